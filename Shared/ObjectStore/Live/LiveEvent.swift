import ParseProtocol

/// The news of one change for a subscriber.
package struct LiveEvent: Sendable {
    /// The names of the protocol (PARSE_PROTOCOL section 13).
    package enum Kind: Sendable, Hashable {
        case create, enter, update, leave, delete

        /// The event for somebody to whom the object was and is there or not: whether it fits the query and may be
        /// read.
        /// - Parameters:
        ///   - before: nil for an object that was created.
        ///   - after: nil for an object that was deleted.
        package init?(before: Bool?, after: Bool?) {
            switch (before, after) {
            case (nil, true?): self = .create
            case (true?, nil): self = .delete
            case (true?, true?): self = .update
            case (true?, false?): self = .leave
            case (false?, true?): self = .enter
            default: return nil
            }
        }
    }

    package let kind: Kind
    /// The subscriptions that get it.
    package let ids: [UInt64]
    /// The object as JSON text, with its class and what all of them may see.
    package let object: [UInt8]
    /// The object before the change, as far as they could see it.
    package let original: [UInt8]?
    /// Fields that the class may hide from them, in order. Whoever changes what is shown must not add one of them.
    package let hidden: [String]
}

/// The outcome of one change.
package struct LiveOutcome: Sendable {
    package var events: [LiveEvent] = []
    /// Subscriptions that end, and why.
    package var ended: [(ids: [UInt64], error: ParseError)] = []
}
