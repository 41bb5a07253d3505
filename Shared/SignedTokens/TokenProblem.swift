/// The reason why a token is invalid. It names the failed check and contains nothing of the token or a key.
public enum TokenProblem: String, Error, Sendable {
    /// Not a JWS in compact form with claims.
    case malformed
    /// An unsupported algorithm, or another one than the key's.
    case algorithm
    /// An invalid key, or a key that is not for signatures.
    case key
    /// The signature is missing or invalid.
    case signature
    case expired
    case tooEarly
}

/// The supported signature algorithms. Shared secrets (`HS256`) and unsigned tokens (`none`) are never accepted.
public enum TokenAlgorithm: String, Sendable {
    case rs256 = "RS256"
    case es256 = "ES256"
}
