import ParseProtocol

/// The claims of a signed token. `iat` is not looked at: it proves nothing that `exp` does not.
public struct TokenClaims: Sendable {
    /// The payload as it was signed.
    public let json: JSON

    /// The text of `iss`; nil for anything else.
    public var issuer: String? { json["iss"]?.stringValue }
    /// The text of `sub`, which names the user at the issuer; nil for anything else.
    public var subject: String? { json["sub"]?.stringValue }

    /// The parties that the token is for: one text or a list of texts. Empty for anything else, which is for nobody.
    public var audiences: [String] {
        guard let value = json["aud"] else { return [] }
        if let one = value.stringValue { return [one] }
        let (values, texts) = (value.arrayValue ?? [], (value.arrayValue ?? []).compactMap(\.stringValue))
        return texts.count == values.count ? texts : []
    }

    /// Clocks are taken as they are: the second in which a token ends is its end.
    /// - Throws: `malformed` without an end or with times that are no numbers, `expired`, `tooEarly`.
    public func checkTime(_ now: Timestamp) throws(TokenProblem) {
        let seconds = Double(now.milliseconds) / 1000
        guard let end = json["exp"]?.doubleValue else { throw .malformed }
        guard seconds < end else { throw .expired }
        guard let start = json["nbf"], !start.isNull else { return }
        guard let start = start.doubleValue else { throw .malformed }
        guard start <= seconds else { throw .tooEarly }
    }
}
