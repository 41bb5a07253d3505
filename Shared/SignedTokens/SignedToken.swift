import ParseProtocol

/// A token as it came: a JWS in compact form (RFC 7515) around claims (RFC 7519). Nothing it says is proven before
/// `claims(signedBy:)` returns; its header only tells which key to ask for.
public struct SignedToken: Sendable {
    /// The algorithm that the header names.
    public let algorithm: TokenAlgorithm
    /// The header's `kid`, the name of the key to ask for; nil when it has none.
    public let keyId: String?
    /// Header and payload as they were signed.
    private let message: [UInt8]
    private let payload: [UInt8]
    private let signature: [UInt8]

    /// Tokens of identity providers have about 1 KB.
    static let bytesMax = 16 << 10

    /// - Throws: `malformed` for what is no token, `algorithm` for one that is signed in no way of ours.
    public init(_ text: String) throws(TokenProblem) {
        guard text.utf8.count <= Self.bytesMax else { throw .malformed }
        let parts = Array(text.utf8).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap(Self.object),
            let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2]),
            // What must be understood, and is not (RFC 7515, 4.1.11).
            header["crit"] == nil
        else { throw .malformed }
        guard let algorithm = header["alg"]?.stringValue.flatMap(TokenAlgorithm.init) else { throw .algorithm }
        self.algorithm = algorithm
        keyId = header["kid"]?.stringValue
        message = Array(parts[0]) + [UInt8(ascii: ".")] + parts[1]
        self.payload = payload
        self.signature = signature
    }

    /// The claims that the owner of `key` signed.
    /// - Throws: `algorithm` when the key signs another way, `signature` when it did not sign this, `malformed` when
    ///   what it signed are no claims. When they hold is another question: `TokenClaims.checkTime`.
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
