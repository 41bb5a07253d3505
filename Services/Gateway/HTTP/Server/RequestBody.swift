import NIOCore
import Synchronization

/// The body of a request as the client sends it. It is read once, by one task; while that has enough, the client's
/// socket is not read.
package final class RequestBody: AsyncSequence, Sendable {
    package typealias Element = ByteBuffer

    private struct State {
        var flow = BodyFlow()
        /// The task that waits for the next part.
        var reader: CheckedContinuation<ByteBuffer?, any Error>?
    }

    private let state = Mutex(State())
    private let wantsMore: @Sendable () -> Void

    /// - Parameter wantsMore: called on any thread when the socket may be read again that was not because of this body.
    package init(wantsMore: @escaping @Sendable () -> Void) { self.wantsMore = wantsMore }

    /// The parts, in their order.
    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let body: RequestBody

        /// The next part; nil behind the last one, and when the client ended the stream.
        /// - Throws: `HTTPParserError` for what is no HTTP, and why the connection failed.
        package mutating func next() async throws -> ByteBuffer? { try await body.next() }
    }

    /// To be called once.
    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }

    /// Whether the socket is not to be read because of it.
    var isFull: Bool { state.withLock { $0.flow.isFull } }

    func add(_ part: ByteBuffer) { change { $0.add(part) } }

    /// - Parameter error: as `BodyFlow.finish`.
    func finish(_ error: (any Error)?) { change { $0.finish(error) } }

    /// Nobody reads it any more.
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
