import ParseProtocol
import Synchronization

/// Lets a few tasks work at once. Some more wait in the order of their arrival, and the others are refused.
package final class PictureTurns: Sendable {
    private struct State {
        var running = 0
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private let runningMax: Int
    private let waitingMax: Int
    private let state = Mutex(State())

    package init(runningMax: Int, waitingMax: Int) {
        self.runningMax = runningMax
        self.waitingMax = waitingMax
    }

    /// - Throws: `.serviceUnavailable` (2) when too many wait; the errors of the work.
    package func run<Value: Sendable>(_ work: @Sendable () async throws -> Value) async throws -> Value {
        guard await enter() else { throw Self.refusal }
        defer { leave() }
        return try await work()
    }

    static let refusal = ParseError(.serviceUnavailable, "Too many pictures are being made. Try again later.")

    private func enter() async -> Bool {
        await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let isIn = state.withLock { state -> Bool? in
                if state.running < runningMax {
                    state.running += 1
                    return true
                }
                guard state.waiting.count < waitingMax else { return false }
                state.waiting.append(continuation)
                return nil
            }
            if let isIn { continuation.resume(returning: isIn) }
        }
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard !state.waiting.isEmpty else {
                state.running -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume(returning: true)
    }
}
