import ParseProtocol

/// A received token: a JWS in compact form (RFC 7515) with claims (RFC 7519). Its content is unverified until
/// `claims(signedBy:)` returns; the header only selects the key.
public struct SignedToken: Sendable {
    /// The algorithm named in the header.
    public let algorithm: TokenAlgorithm
    /// The header's `kid`, the name of the key; nil if there is none.
    public let keyId: String?
    /// Header and payload in their signed form.
    private let message: [UInt8]
    private let payload: [UInt8]
    private let signature: [UInt8]

    /// Limit of a token. Tokens of identity providers have about 1 KB.
    static let bytesMax = 16 << 10

    /// - Throws: `malformed` for an invalid token, `algorithm` for an unsupported algorithm.
    public init(_ text: String) throws(TokenProblem) {
        guard text.utf8.count <= Self.bytesMax else { throw .malformed }
        let parts = Array(text.utf8).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap(Self.object),
            let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2]),
            // Critical extensions must be understood, and none is supported (RFC 7515, 4.1.11).
            header["crit"] == nil
        else { throw .malformed }
        guard let algorithm = header["alg"]?.stringValue.flatMap(TokenAlgorithm.init) else { throw .algorithm }
        self.algorithm = algorithm
        keyId = header["kid"]?.stringValue
        message = Array(parts[0]) + [UInt8(ascii: ".")] + parts[1]
        self.payload = payload
        self.signature = signature
    }

    /// The claims, if the owner of `key` signed them.
    /// - Throws: `algorithm` when the key has another algorithm, `signature` when the signature is invalid, `malformed`
    ///   when the payload is not an object. Validity times are checked by `TokenClaims.checkTime`.
    public func claims(signedBy key: TokenKey) throws(TokenProblem) -> TokenClaims {
        guard key.algorithm == algorithm else { throw .algorithm }
        guard key.isValid(signature, of: message) else { throw .signature }
        guard let claims = Self.object(payload) else { throw .malformed }
        return TokenClaims(json: claims)
    }

    private static func object(_ bytes: [UInt8]) -> JSON? {
        guard let json = try? JSON(parsing: bytes), case .object = json else { return nil }
        return json
    }
}
