import NIOCore

/// The parts of one request's body between the socket and the task that reads them. No I/O; `RequestBody` shares one
/// between an event loop and a task.
package struct BodyFlow {
    /// The result of asking for the next part.
    package enum Next {
        /// - wantsMore: this body had stopped the reading of the socket, which may go on now.
        case part(ByteBuffer, wantsMore: Bool)
        /// The next part has not arrived.
        case wait
        /// No more parts: the body is complete, or the client has ended the stream early.
        case end
        case failed(any Error)
    }

    /// Reading stops at so many waiting parts, and resumes at the lower number. One read may add more than that.
    package static let partsMax = 10
    package static let partsLow = 2

    private var parts = CircularBuffer<ByteBuffer>()
    private var end: Result<Void, any Error>?
    private var isDropped = false

    /// Whether this body stops the reading of the socket.
    package private(set) var isFull = false

    package init() {}

    /// A part has arrived.
    package mutating func add(_ part: ByteBuffer) {
        guard !isDropped, end == nil else { return }
        parts.append(part)
        if parts.count >= Self.partsMax { isFull = true }
    }

    /// The last part has arrived.
    /// - Parameter error: why the body will never be complete, which `next` reports behind the parts that have arrived;
    ///   nil for a complete body, and for a client that ended the stream.
    package mutating func finish(_ error: (any Error)?) {
        guard end == nil else { return }
        end = error.map { .failure($0) } ?? .success(())
    }

    /// Takes the next part.
    package mutating func next() -> Next {
        if let part = parts.popFirst() {
            let wantsMore = isFull && parts.count <= Self.partsLow
            if wantsMore { isFull = false }
            return .part(part, wantsMore: wantsMore)
        }
        switch end {
        case nil: return isDropped ? .end : .wait
        case .success: return .end
        case .failure(let error): return .failed(error)
        }
    }

    /// Drops the parts: no task reads the body any more.
    package mutating func drop() {
        isDropped = true
        isFull = false
        parts = CircularBuffer()
    }
}
