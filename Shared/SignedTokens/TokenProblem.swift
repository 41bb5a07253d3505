/// The reason for which a token does not count. It names the check, never anything of the token or a key.
public enum TokenProblem: String, Error, Sendable {
    /// It is no JWS in compact form with claims.
    case malformed
    /// Signed in a way that is not accepted, or not the one of its key.
    case algorithm
    /// A key that is none, or does not sign.
    case key
    /// Somebody else signed it, or nobody, or it was changed.
    case signature
    case expired
    case tooEarly
}

/// The algorithms by which tokens are signed. There is no other way: never by a shared secret (`HS256`), never not at
/// all (`none`).
public enum TokenAlgorithm: String, Sendable {
    case rs256 = "RS256"
    case es256 = "ES256"
}
