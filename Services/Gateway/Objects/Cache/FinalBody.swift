import NIOCore

/// A body as it goes out: the URLs of its files are in it, and its tag is known. It is shared and never copied.
struct FinalBody: Sendable {
    let buffer: ByteBuffer
    /// The `ETag`, with its quotes.
    let tag: String

    /// - Parameter body: with the URLs of its files.
    init(_ body: [UInt8]) {
        buffer = ByteBuffer(bytes: body)
        tag = EntityTag.of(body)
    }
}
