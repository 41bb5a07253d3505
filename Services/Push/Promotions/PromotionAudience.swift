import ParseProtocol

/// To whom a promotion goes, as it is stored and sent along: everybody (`"all"`, null or nothing), or an object with
/// `channels` or `where`.
package struct PromotionAudience: Sendable {
    private let value: JSON

    package init(_ value: JSON?) { self.value = value ?? "all" }

    /// The members of a push's body that say the same.
    /// - Throws: `.validationError` (142) for what is no audience.
    func members() throws(ParseError) -> (channels: JSON?, condition: JSON?) {
        if value == "all" || value.isNull { return (nil, [:]) }
        let (channels, condition) = (value["channels"], value["where"])
        guard channels != nil || condition != nil else {
            throw ParseError(.validationError, "audience must be \"all\" or an object with channels or where.")
        }
        return (channels, condition)
    }
}
