import COpenSSL

/// The signature algorithms, always with SHA-256.
public enum SignatureAlgorithm: Sendable, Equatable {
    /// RSASSA-PKCS1-v1_5 (RFC 8017).
    case rsa
    /// ECDSA over the curve P-256; a signature is r and s, 32 bytes each (RFC 7518, 3.4).
    case p256
}

/// A public key that verifies signatures.
public struct PublicKey: Sendable {
    /// The algorithm of the key.
    public let algorithm: SignatureAlgorithm
    private let key: KeyHandle

    /// Shorter keys are not secure (NIST SP 800-131A); longer ones only cost time.
    private static let modulusBits = 2048...8192
    private static let exponentBytesMax = 4
    static let coordinateBytes = 32

    fileprivate init(_ algorithm: SignatureAlgorithm, _ key: KeyHandle) {
        self.algorithm = algorithm
        self.key = key
    }

    /// An RSA key from its numbers, most significant byte first.
    /// - Throws: `badKey` for a modulus under 2048 or over 8192 bits, and for an exponent that is even, 1 or over 32
    ///   bits.
    public init(modulus: [UInt8], exponent: [UInt8]) throws(CryptographyError) {
        let (modulus, exponent) = (modulus.drop { $0 == 0 }, exponent.drop { $0 == 0 })
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard Self.modulusBits.contains(bits), exponent.count <= Self.exponentBytesMax, let last = exponent.last,
            last & 1 == 1, exponent.count > 1 || last > 1
        else { throw .badKey }
        let numbers = DER.sequence(DER.integer(modulus), DER.integer(exponent))
        try self.init(.rsa, KeyHandle(info: DER.sequence(DER.rsaAlgorithm, DER.bitString(numbers))))
    }

    /// A P-256 key from the coordinates of its point, 32 bytes each.
    /// - Throws: `badKey` for a point that is not on the curve.
    public init(x: [UInt8], y: [UInt8]) throws(CryptographyError) {
        guard x.count == Self.coordinateBytes, y.count == Self.coordinateBytes else { throw .badKey }
        let point = [0x04] + x + y
        try self.init(.p256, KeyHandle(info: DER.sequence(DER.p256Algorithm, DER.bitString(point))))
    }

    /// Whether the key's owner signed `message`; false for a malformed signature.
    public func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        switch algorithm {
        case .rsa: return key.isValid(signature, of: message)
        case .p256:
            guard signature.count == 2 * Self.coordinateBytes else { return false }
            let (r, s) = (signature.prefix(Self.coordinateBytes), signature.suffix(Self.coordinateBytes))
            return key.isValid(DER.sequence(DER.integer(r), DER.integer(s)), of: message)
        }
    }
}

/// A private key that signs.
public struct PrivateKey: Sendable {
    /// The algorithm of the key.
    public let algorithm: SignatureAlgorithm
    private let key: KeyHandle

    /// The unencrypted key in a PEM text (`PRIVATE KEY`, `EC PRIVATE KEY` or `RSA PRIVATE KEY`).
    /// - Throws: `badKey` for anything but a P-256 key or an RSA key of 2048 to 8192 bits.
    public init(pem: String) throws(CryptographyError) {
        key = try KeyHandle(privatePEM: pem)
        guard let algorithm = key.algorithm else { throw .badKey }
        self.algorithm = algorithm
    }

    /// The public half of the pair.
    public var publicKey: PublicKey { PublicKey(algorithm, key) }

    /// - Throws: `unavailable`.
    public func signature(of message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        let signature = try key.signature(of: message)
        return algorithm == .p256 ? try KeyHandle.numbers(ofSignature: signature) : signature
    }
}
