import Compression
import NIOCore
import Synchronization

/// A body in its final form, with the URLs of its files and its tag. It is shared and never copied.
struct FinalBody: Sendable {
    let buffer: ByteBuffer
    /// The `ETag`, with its quotes.
    let tag: String
    /// The compressed form; nil for a body that is not sent compressed.
    let packed: PackedForm?

    /// Bytes of memory, up to twice the length: buffer sizes are powers of two. The compressed form has at most half
    /// the length and counts from the beginning.
    var bytesTaken: Int { buffer.storageCapacity + (packed == nil ? 0 : buffer.readableBytes) }

    /// - Parameters:
    ///   - body: includes the URLs of its files.
    ///   - isCached: whether many clients get it, so that its compressed form is kept with it.
    init(_ body: [UInt8], isCached: Bool = false) {
        buffer = ByteBuffer(bytes: body)
        tag = EntityTag.of(body)
        packed = isCached && body.count >= Packing.bytesMin ? PackedForm() : nil
    }

    /// - Parameter tag: the `ETag` of these bytes, with its quotes.
    init(_ buffer: ByteBuffer, tag: String) {
        self.buffer = buffer
        self.tag = tag
        packed = nil
    }
}

/// The compressed form of a shared body, made when a client first accepts it.
final class PackedForm: Sendable {
    private enum State {
        case unmade
        /// Nil when compression saves less than half.
        case made(ByteBuffer?)
    }

    private let state = Mutex(State.unmade)

    /// Whether `form` takes no time.
    var isMade: Bool { state.withLock { if case .made = $0 { true } else { false } } }

    /// - Parameter body: the body that this is the form of.
    /// - Returns: at most half as many bytes; nil when they cannot be saved.
    func form(of body: ByteBuffer) -> ByteBuffer? {
        if case .made(let form) = state.withLock({ $0 }) { return form }
        // Without the lock, on which event loops would wait. Two threads may do the same work once.
        let form = body.withUnsafeReadableBytes { Gzip.quick($0) }.map { ByteBuffer(bytes: $0) }
        state.withLock { $0 = .made(form) }
        return form
    }
}
