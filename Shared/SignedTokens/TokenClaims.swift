import ParseProtocol

/// The claims of a signed token. `iat` is ignored, because `exp` suffices.
public struct TokenClaims: Sendable {
    /// The signed payload.
    public let json: JSON

    /// The text of `iss`; nil for any other type.
    public var issuer: String? { json["iss"]?.stringValue }
    /// The text of `sub`, the user's id at the issuer; nil for any other type.
    public var subject: String? { json["sub"]?.stringValue }

    /// The audiences of the token: a text or a list of texts. Empty for any other type, so that such a token is for no
    /// audience.
    public var audiences: [String] {
        guard let value = json["aud"] else { return [] }
        if let one = value.stringValue { return [one] }
        let (values, texts) = (value.arrayValue ?? [], (value.arrayValue ?? []).compactMap(\.stringValue))
        return texts.count == values.count ? texts : []
    }

    /// Checks the validity times without tolerance for clock differences; a token has expired at the second `exp`.
    /// - Throws: `malformed` without an end or with times that are not numbers, `expired`, `tooEarly`.
    public func checkTime(_ now: Timestamp) throws(TokenProblem) {
        let seconds = Double(now.milliseconds) / 1000
        guard let end = json["exp"]?.doubleValue else { throw .malformed }
        guard seconds < end else { throw .expired }
        guard let start = json["nbf"], !start.isNull else { return }
        guard let start = start.doubleValue else { throw .malformed }
        guard start <= seconds else { throw .tooEarly }
    }
}
