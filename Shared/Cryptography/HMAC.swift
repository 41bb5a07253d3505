/// A keyed hash (RFC 2104).
public struct HMAC<Hash: HashFunction> {
    /// The authentication code, as long as the hash function's digest.
    public typealias MAC = Digest

    private var inner = Hash()
    private var outer = Hash()

    /// A code without data. A key longer than a block of the hash function is hashed first (RFC 2104, 2).
    public init(key: SymmetricKey) {
        var block = key.withUnsafeBytes { $0.count > Hash.blockByteCount ? Array(Hash.hash(data: $0)) : Array($0) }
        block += [UInt8](repeating: 0, count: Hash.blockByteCount - block.count)
        inner.update(data: block.map { $0 ^ 0x36 })
        outer.update(data: block.map { $0 ^ 0x5C })
    }

    /// Appends to the data.
    public mutating func update(data: some Sequence<UInt8>) { inner.update(data: data) }

    /// The code of all data so far.
    public func finalize() -> MAC {
        var outer = outer
        outer.update(data: inner.finalize())
        return outer.finalize()
    }

    /// The code of `data` in one step.
    public static func authenticationCode(for data: some Sequence<UInt8>, using key: SymmetricKey) -> MAC {
        var code = HMAC(key: key)
        code.update(data: data)
        return code.finalize()
    }

    /// Compares in constant time.
    public static func isValidAuthenticationCode(
        _ code: some Sequence<UInt8>, authenticating data: some Sequence<UInt8>, using key: SymmetricKey
    ) -> Bool {
        areEqual(code, authenticationCode(for: data, using: key))
    }
}

/// Derives keys from a key (RFC 5869), without salt.
public enum HKDF<Hash: HashFunction> {
    /// - Parameters:
    ///   - info: the purpose of the new key.
    ///   - outputByteCount: at most 255 digests.
    public static func deriveKey(
        inputKeyMaterial key: SymmetricKey, info: some Sequence<UInt8>, outputByteCount: Int
    ) -> SymmetricKey {
        precondition((0...255 * Hash.byteCount).contains(outputByteCount), "HKDF makes no key of that length.")
        // No salt means a salt of zeros, and HMAC pads its key with zeros.
        let root = key.withUnsafeBytes {
            HMAC<Hash>.authenticationCode(for: $0, using: SymmetricKey(data: [UInt8]()))
        }
        let (rootKey, info) = (SymmetricKey(data: root), Array(info))
        var (bytes, block): ([UInt8], [UInt8]) = ([], [])
        var number: UInt8 = 0
        while bytes.count < outputByteCount {
            number += 1
            block = Array(HMAC<Hash>.authenticationCode(for: block + info + [number], using: rootKey))
            bytes += block
        }
        return SymmetricKey(data: bytes.prefix(outputByteCount))
    }
}
