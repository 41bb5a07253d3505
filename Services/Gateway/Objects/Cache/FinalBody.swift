import NIOCore

/// A body as it goes out: the URLs of its files are in it, and its tag is known. It is shared and never copied.
struct FinalBody: Sendable {
    let buffer: ByteBuffer
    /// The `ETag`, with its quotes.
    let tag: String

    /// Bytes of memory that it takes, which are up to twice as many as it has: buffers are powers of two.
    var bytesTaken: Int { buffer.storageCapacity }

    /// - Parameter body: with the URLs of its files.
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
