import ParseProtocol

/// The recipients of a promotion, as stored and as sent by clients: all devices (`"all"`, null or absent), or an object
/// with `channels` or `where`.
package struct PromotionAudience: Sendable {
    private let value: JSON

    package init(_ value: JSON?) { self.value = value ?? "all" }

    /// The recipients that a call names; if it names none, or null, the stored ones of the promotion.
    package init(_ named: JSON?, of promotion: JSON) {
        self.init(named.flatMap { $0.isNull ? nil : $0 } ?? promotion["audience"])
    }

    /// The equivalent members of a push's body.
    /// - Throws: `.validationError` (142) for an invalid audience.
    func members() throws(ParseError) -> (channels: JSON?, condition: JSON?) {
        if value == "all" || value.isNull { return (nil, [:]) }
        let (channels, condition) = (value["channels"], value["where"])
        guard channels != nil || condition != nil else {
            throw ParseError(.validationError, "audience must be \"all\" or an object with channels or where.")
        }
        return (channels, condition)
    }
}
