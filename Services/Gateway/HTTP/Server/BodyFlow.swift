import NIOCore

/// The parts of one request's body between the socket and who reads them. Pure; `RequestBody` shares one between an
/// event loop and a task.
package struct BodyFlow {
    /// The answer to who wants the next part.
    package enum Next {
        /// - wantsMore: the socket was not read on because of this body, and now may be.
        case part(ByteBuffer, wantsMore: Bool)
        /// It has yet to come.
        case wait
        /// Nothing comes any more: the body is complete, or the client has ended the stream before its end.
        case end
        case failed(any Error)
    }

    /// Parts that wait before the socket is not read any more, and those at which it is read again. What one turn of
    /// the socket brought is taken in whole; it is bounded by the size of what is read at once.
    package static let partsMax = 10
    package static let partsLow = 2

    private var parts = CircularBuffer<ByteBuffer>()
    private var end: Result<Void, any Error>?
    private var isDropped = false

    /// Whether the socket is not to be read because of it.
    package private(set) var isFull = false

    /// A body of which nothing has come.
    package init() {}

    /// A part came.
    package mutating func add(_ part: ByteBuffer) {
        guard !isDropped, end == nil else { return }
        parts.append(part)
        if parts.count >= Self.partsMax { isFull = true }
    }

    /// The last part has come.
    /// - Parameter error: why the body will never be complete, which is said behind what came of it; nil for one that
    ///   is, or whose client ended the stream.
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

    /// Nobody reads it any more.
    package mutating func drop() {
        isDropped = true
        isFull = false
        parts = CircularBuffer()
    }
}
