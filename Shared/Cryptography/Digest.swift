import COpenSSL

/// A digest or an authentication code. Two are compared in constant time.
public struct Digest: RandomAccessCollection, Equatable, Sendable {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// 0.
    public var startIndex: Int { bytes.startIndex }
    /// The number of bytes.
    public var endIndex: Int { bytes.endIndex }
    /// The byte at `position`. Traps outside of the digest, as an array does.
    public subscript(position: Int) -> UInt8 { bytes[position] }

    /// Calls `body` with the stored bytes; never returns nil.
    public func withContiguousStorageIfAvailable<R>(_ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R? {
        try bytes.withContiguousStorageIfAvailable(body)
    }

    /// Whether both have the same bytes. The time depends only on their lengths.
    public static func == (a: Digest, b: Digest) -> Bool { areEqual(a, b) }
}

/// Whether both have the same bytes. The time depends only on their lengths, which are not secret.
func areEqual(_ a: some Sequence<UInt8>, _ b: some Sequence<UInt8>) -> Bool {
    withBytes(of: a) { a in
        withBytes(of: b) { b in
            a.count == b.count && CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) == 0
        }
    }
}

/// Calls `body` with contiguous bytes, copied only if necessary.
func withBytes<Result>(of data: some Sequence<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    data.withContiguousStorageIfAvailable(body) ?? Array(data).withUnsafeBufferPointer(body)
}
