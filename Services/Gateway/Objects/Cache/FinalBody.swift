import NIOCore

/// A body in its final form, with the URLs of its files and its tag. It is shared and never copied.
struct FinalBody: Sendable {
    let buffer: ByteBuffer
    /// The `ETag`, with its quotes.
    let tag: String

    /// Bytes of memory, up to twice the length: buffer sizes are powers of two.
    var bytesTaken: Int { buffer.storageCapacity }

    /// - Parameter body: includes the URLs of its files.
    init(_ body: [UInt8]) {
        buffer = ByteBuffer(bytes: body)
        tag = EntityTag.of(body)
    }

    /// - Parameter tag: the `ETag` of these bytes, with its quotes.
    init(_ buffer: ByteBuffer, tag: String) {
        self.buffer = buffer
        self.tag = tag
    }
}
