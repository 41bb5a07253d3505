import ParseProtocol

/// An event about one change, for subscribers.
package struct LiveEvent: Sendable {
    /// The names of the protocol (PARSE_PROTOCOL section 13).
    package enum Kind: Sendable, Hashable {
        case create, enter, update, leave, delete

        /// The event for a subscriber, from whether the object matched the query and was readable before and after the
        /// change.
        /// - Parameters:
        ///   - before: nil for a created object.
        ///   - after: nil for a deleted object.
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
    /// The subscriptions that get the event.
    package let ids: [UInt64]
    /// The object as JSON text, with its class and the fields that all these subscribers may see.
    package let object: [UInt8]
    /// The object before the change, as far as the subscribers could see it.
    package let original: [UInt8]?
    /// The sorted fields that the class may hide from these subscribers. Later changes to the event must not add one of
    /// them.
    package let hidden: [String]
}

/// The result of one change.
package struct LiveOutcome: Sendable {
    package var events: [LiveEvent] = []
    /// Subscriptions that end, and the reason.
    package var ended: [(ids: [UInt64], error: ParseError)] = []

    package init(ended: [(ids: [UInt64], error: ParseError)] = []) { self.ended = ended }
}
