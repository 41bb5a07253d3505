import Synchronization

/// A signal that one task waits for, until `ring`, a timeout or cancellation, whichever comes first.
///
/// A ring without a waiting task is kept for the next wait. Several rings count as one.
public final class WakeUp: Sendable {
    private struct State {
        var isRung = false
        /// Number of the latest wait, from 1, and of the latest wait that timed out.
        var wait = 0
        var over = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// A signal that has not been rung.
    public init() {}

    /// Wakes the waiting task, or else the next task to wait. Never blocks.
    public func ring() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let waiter = state.waiter else {
                state.isRung = true
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume()
    }

    /// Discards a ring that no task has consumed.
    func clear() { state.withLock { $0.isRung = false } }

    /// Waits for a ring. Only one task waits at a time.
    func wait(atMost limit: Duration) async {
        let number = state.withLock { state -> Int? in
            guard !state.isRung else {
                state.isRung = false
                return nil
            }
            state.wait += 1
            return state.wait
        }
        // A timer is a task: it costs more than a short round.
        guard let wait = number else { return }
        let timer = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            timeIsOver(wait)
        }
        defer { timer.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isOver = state.withLock { state -> Bool in
                    precondition(state.waiter == nil, "One task waits at a time.")
                    guard !state.isRung, state.over != wait else {
                        state.isRung = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            ring()
        }
    }

    private func timeIsOver(_ wait: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            // The timer belongs to an earlier wait.
            guard state.wait == wait else { return nil }
            state.over = wait
            let waiter = state.waiter
            state.waiter = nil
            return waiter
        }
        waiter?.resume()
    }
}
