import COpenSSL

/// A digest that is computed piece by piece. A copy goes on by itself.
public protocol HashFunction {
    /// Length of the digest.
    static var byteCount: Int { get }
    /// Length of the blocks in which the function works; HMAC needs it.
    static var blockByteCount: Int { get }

    /// A digest of nothing yet.
    init()
    /// Appends to the data.
    mutating func update(data: some Sequence<UInt8>)
    /// The digest of everything up to now; more can follow.
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

    /// A digest of nothing yet.
    public init() { SHA256_Init(&state) }

    /// Appends to the data.
    public mutating func update(data: some Sequence<UInt8>) {
        _ = withBytes(of: data) { SHA256_Update(&state, $0.baseAddress, $0.count) }
    }

    /// The digest of everything up to now; more can follow.
    public func finalize() -> Digest {
        var (state, digest) = (self.state, [UInt8](repeating: 0, count: Self.byteCount))
        SHA256_Final(&digest, &state)
        return Digest(digest)
    }
}

/// Hash functions that others' protocols demand and nothing of ours relies on.
public enum Insecure {
    /// SHA-1, for one-time passwords (RFC 6238) and OAuth 1.0 (RFC 5849), which know no newer one.
    public struct SHA1: HashFunction {
        /// Length of the digest in bytes.
        public static let byteCount = 20
        /// Length of a block in bytes.
        public static let blockByteCount = 64

        private var state = SHA_CTX()

        /// A digest of nothing yet.
        public init() { SHA1_Init(&state) }

        /// Appends to the data.
        public mutating func update(data: some Sequence<UInt8>) {
            _ = withBytes(of: data) { SHA1_Update(&state, $0.baseAddress, $0.count) }
        }

        /// The digest of everything up to now; more can follow.
        public func finalize() -> Digest {
            var (state, digest) = (self.state, [UInt8](repeating: 0, count: Self.byteCount))
            SHA1_Final(&digest, &state)
            return Digest(digest)
        }
    }

    /// MD5, for the names of pushes that apps know.
    public struct MD5: HashFunction {
        /// Length of the digest in bytes.
        public static let byteCount = 16
        /// Length of a block in bytes.
        public static let blockByteCount = 64

        private var state = MD5_CTX()

        /// A digest of nothing yet.
        public init() { MD5_Init(&state) }

        /// Appends to the data.
        public mutating func update(data: some Sequence<UInt8>) {
            _ = withBytes(of: data) { MD5_Update(&state, $0.baseAddress, $0.count) }
        }

        /// The digest of everything up to now; more can follow.
        public func finalize() -> Digest {
            var (state, digest) = (self.state, [UInt8](repeating: 0, count: Self.byteCount))
            MD5_Final(&digest, &state)
            return Digest(digest)
        }
    }
}
