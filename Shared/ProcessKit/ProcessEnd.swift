@preconcurrency import Dispatch
import Foundation
import Synchronization

/// A one-shot signal, usually the request to end a process. Any number of tasks can wait for it.
package final class ProcessEnd: Sendable {
    private struct State {
        var isRequested = false
        var lastNumber = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    /// An end that has not been requested.
    package init() {}

    /// Whether the end was requested.
    package var isRequested: Bool { state.withLock { $0.isRequested } }

    /// Requests the end; later calls have no effect.
    package func ask() {
        let waiting = state.withLock { state in
            state.isRequested = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume() }
    }

    /// Returns when the end is requested, or when the task is cancelled.
    package func wait() async {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // A cancellation after this line finds the continuation.
                    guard !state.isRequested, !Task.isCancelled else { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
        }
    }

    /// Waits for the end, at most for the time.
    /// - Returns: whether the end was requested or the task cancelled.
    package func arrives(within time: Duration) async -> Bool {
        await cancels { try await Task.sleep(for: time) }
        return isRequested || Task.isCancelled
    }

    /// Runs work that is cancelled when the end is requested, and returns when the work has ended.
    package func cancels(_ work: @escaping @Sendable () async throws -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await work() }
            group.addTask { await self.wait() }
            await group.next()
            group.cancelAll()
        }
    }
}

extension ProcessEnd {
    private static let queue = DispatchQueue(label: "satchel.signals")

    /// An end that SIGTERM or SIGINT requests. Once this method returns, these signals no longer terminate the process,
    /// however often they arrive. To be called once per process.
    package static func bySignal() async -> ProcessEnd {
        let end = ProcessEnd()
        for signal in [SIGTERM, SIGINT] {
            let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
            // Keeps the source alive for the lifetime of the process; there is no other reference.
            source.setEventHandler { withExtendedLifetime(source) { end.ask() } }
            // Waits until Dispatch handles the signal. Ignoring the signal beforehand could lose an early signal.
            await withCheckedContinuation { (registered: CheckedContinuation<Void, Never>) in
                source.setRegistrationHandler { registered.resume() }
                source.activate()
            }
        }
        return end
    }
}
