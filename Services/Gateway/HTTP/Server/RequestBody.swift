import NIOCore
import Synchronization

/// The body of a request as the client sends it. One task reads it, once. While enough parts wait for the task, the
/// client's socket is not read.
package final class RequestBody: AsyncSequence, Sendable {
    package typealias Element = ByteBuffer

    private struct State {
        var flow = BodyFlow()
        /// The task that waits for the next part.
        var reader: CheckedContinuation<ByteBuffer?, any Error>?
    }

    private let state = Mutex(State())
    private let wantsMore: @Sendable () -> Void

    /// - Parameter wantsMore: called on any thread when this body no longer stops the reading of the socket.
    package init(wantsMore: @escaping @Sendable () -> Void) { self.wantsMore = wantsMore }

    /// The parts, in their order.
    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let body: RequestBody

        /// The next part; nil after the last one, and when the client ended the stream.
        /// - Throws: `HTTPParserError` for invalid HTTP, and the error of a connection that failed.
        package mutating func next() async throws -> ByteBuffer? { try await body.next() }
    }

    /// Makes the only iterator.
    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }

    /// Whether this body stops the reading of the socket.
    var isFull: Bool { state.withLock { $0.flow.isFull } }

    func add(_ part: ByteBuffer) { change { $0.add(part) } }

    /// - Parameter error: as `BodyFlow.finish`.
    func finish(_ error: (any Error)?) { change { $0.finish(error) } }

    /// Drops the parts: no task reads the body any more.
    func drop() { change { $0.drop() } }

    private func change(_ change: (inout BodyFlow) -> Void) {
        let answer = state.withLock { state -> (BodyFlow.Next, CheckedContinuation<ByteBuffer?, any Error>)? in
            change(&state.flow)
            guard let reader = state.reader else { return nil }
            let next = state.flow.next()
            if case .wait = next { return nil }
            state.reader = nil
            return (next, reader)
        }
        if let (next, reader) = answer { give(next, to: reader) }
    }

    private func next() async throws -> ByteBuffer? {
        try await withCheckedThrowingContinuation { reader in
            let next = state.withLock { state in
                let next = state.flow.next()
                if case .wait = next { state.reader = reader }
                return next
            }
            give(next, to: reader)
        }
    }

    private func give(_ next: BodyFlow.Next, to reader: CheckedContinuation<ByteBuffer?, any Error>) {
        switch next {
        case .wait: break
        case .part(let part, let isMoreWanted):
            if isMoreWanted { wantsMore() }
            reader.resume(returning: part)
        case .end: reader.resume(returning: nil)
        case .failed(let error): reader.resume(throwing: error)
        }
    }
}
