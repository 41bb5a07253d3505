import Compression
import NIOCore
import Synchronization

/// A body in its final form, with the URLs of its files and its tag. It is shared and never copied.
struct FinalBody: Sendable {
    let buffer: ByteBuffer
    /// The `ETag`, with its quotes.
    let tag: String
    /// The compressed form; nil for a body that is not sent compressed.
    let gzip: GzipForm?

    /// Bytes of memory, up to twice the length: buffer sizes are powers of two. The compressed form has at most half
    /// the length and counts from the beginning.
    var bytesTaken: Int { buffer.storageCapacity + (gzip == nil ? 0 : buffer.readableBytes) }

    /// - Parameters:
    ///   - body: includes the URLs of its files.
    ///   - isCached: whether many clients get it, so that its compressed form is kept with it.
    init(_ body: [UInt8], isCached: Bool = false) {
        buffer = ByteBuffer(bytes: body)
        tag = EntityTag.of(body)
        gzip = isCached && body.count >= ResponseCompression.bytesMin ? GzipForm() : nil
    }

    /// - Parameter tag: the `ETag` of these bytes, with its quotes.
    init(_ buffer: ByteBuffer, tag: String) {
        self.buffer = buffer
        self.tag = tag
        gzip = nil
    }
}

/// The compressed form of a shared body. The body is compressed when a client first accepts gzip.
final class GzipForm: Sendable {
    private enum State {
        case uncompressed
        /// Nil when compression saves less than half.
        case compressed(ByteBuffer?)
    }

    private let state = Mutex(State.uncompressed)

    /// Whether the body is compressed already.
    var isCompressed: Bool { state.withLock { if case .compressed = $0 { true } else { false } } }

    /// - Parameter body: the body whose form this is.
    /// - Returns: the body in gzip; nil when less than half would be saved.
    func bytes(of body: ByteBuffer) -> ByteBuffer? {
        if case .compressed(let form) = state.withLock({ $0 }) { return form }
        // Not inside the lock, because event loops would wait for it. Two threads may compress the body at the same
        // time.
        let form = body.withUnsafeReadableBytes { Gzip.quick($0) }.map { ByteBuffer(bytes: $0) }
        state.withLock { $0 = .compressed(form) }
        return form
    }
}
