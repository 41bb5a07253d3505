import COpenSSL

/// A digest that is computed incrementally. A copy is independent.
public protocol HashFunction {
    /// Length of the digest.
    static var byteCount: Int { get }
    /// Length of the function's blocks; HMAC needs it.
    static var blockByteCount: Int { get }

    /// A digest without data.
    init()
    /// Appends to the data.
    mutating func update(data: some Sequence<UInt8>)
    /// The digest of all data so far; more data can follow.
    func finalize() -> Digest
}

extension HashFunction {
    /// The digest of `data` in one step.
    public static func hash(data: some Sequence<UInt8>) -> Digest {
        var function = Self()
        function.update(data: data)
        return function.finalize()
    }
}

/// SHA-256 (FIPS 180-4).
public struct SHA256: HashFunction {
    /// Length of the digest in bytes.
    public static let byteCount = 32
    /// Length of a block in bytes.
    public static let blockByteCount = 64

    private var state = SHA256_CTX()

    /// A digest without data.
    public init() { SHA256_Init(&state) }

    /// Appends to the data.
    public mutating func update(data: some Sequence<UInt8>) {
        _ = withBytes(of: data) { SHA256_Update(&state, $0.baseAddress, $0.count) }
    }

    /// The digest of all data so far; more data can follow.
    public func finalize() -> Digest {
        var (state, digest) = (self.state, [UInt8](repeating: 0, count: Self.byteCount))
        SHA256_Final(&digest, &state)
        return Digest(digest)
    }
}

/// Hash functions that external protocols require. Satchel's own security does not rely on them.
public enum Insecure {
    /// SHA-1, for one-time passwords (RFC 6238) and OAuth 1.0 (RFC 5849), which support nothing newer.
    public struct SHA1: HashFunction {
        /// Length of the digest in bytes.
        public static let byteCount = 20
        /// Length of a block in bytes.
        public static let blockByteCount = 64

        private var state = SHA_CTX()

        /// A digest without data.
        public init() { SHA1_Init(&state) }

        /// Appends to the data.
        public mutating func update(data: some Sequence<UInt8>) {
            _ = withBytes(of: data) { SHA1_Update(&state, $0.baseAddress, $0.count) }
        }

        /// The digest of all data so far; more data can follow.
        public func finalize() -> Digest {
            var (state, digest) = (self.state, [UInt8](repeating: 0, count: Self.byteCount))
            SHA1_Final(&digest, &state)
            return Digest(digest)
        }
    }

    /// MD5, for the push hashes that apps expect.
    public struct MD5: HashFunction {
        /// Length of the digest in bytes.
        public static let byteCount = 16
        /// Length of a block in bytes.
        public static let blockByteCount = 64

        private var state = MD5_CTX()

        /// A digest without data.
        public init() { MD5_Init(&state) }

        /// Appends to the data.
        public mutating func update(data: some Sequence<UInt8>) {
            _ = withBytes(of: data) { MD5_Update(&state, $0.baseAddress, $0.count) }
        }

        /// The digest of all data so far; more data can follow.
        public func finalize() -> Digest {
            var (state, digest) = (self.state, [UInt8](repeating: 0, count: Self.byteCount))
            MD5_Final(&digest, &state)
            return Digest(digest)
        }
    }
}
