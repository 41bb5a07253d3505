import COpenSSL

/// A secret of any length. Its memory is wiped when the last reference is released; two are compared in constant time.
public struct SymmetricKey: Sendable, Equatable {
    private let secret: Secret

    /// A copy of `data`, which may be of any length.
    public init(data: some Sequence<UInt8>) { secret = Secret(data) }

    /// Length in bytes.
    public var byteCount: Int { secret.bytes.count }

    /// Calls `body` with the key's bytes, which it must not let escape: they are wiped with the key.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(secret.bytes))
    }

    /// Whether both have the same bytes. The time depends only on their lengths.
    public static func == (a: SymmetricKey, b: SymmetricKey) -> Bool {
        a.withUnsafeBytes { a in b.withUnsafeBytes { b in areEqual(a, b) } }
    }

    private final class Secret: Sendable {
        /// Written only by `init`.
        nonisolated(unsafe) let bytes: UnsafeMutableRawBufferPointer

        init(_ data: some Sequence<UInt8>) {
            bytes = withBytes(of: data) { data in
                let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: data.count, alignment: 16)
                bytes.copyBytes(from: data)
                return bytes
            }
        }

        deinit {
            OPENSSL_cleanse(bytes.baseAddress, bytes.count)
            bytes.deallocate()
        }
    }
}
