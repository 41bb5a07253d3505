@preconcurrency import Dispatch
import Foundation
import Synchronization

/// The end of a process, or of a part of it, from the moment at which somebody asks for it. Whoever has one can wait
/// for that.
package final class ProcessEnd: Sendable {
    private struct State {
        var isAskedFor = false
        var lastNumber = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    /// One that nobody has asked for.
    package init() {}

    /// Whether somebody asked for it.
    package var isAskedFor: Bool { state.withLock { $0.isAskedFor } }

    /// Asks for it; nothing happens when somebody did before.
    package func ask() {
        let waiting = state.withLock { state in
            state.isAskedFor = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume() }
    }

    /// Returns when it is asked for, or when the task is cancelled.
    package func wait() async {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // A task that is cancelled after this line finds the continuation.
                    guard !state.isAskedFor, !Task.isCancelled else { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
        }
    }

    /// Does something that is cancelled as soon as the end is asked for, and returns when it has ended.
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

    /// The end that SIGTERM or SIGINT asks for. Once this returns, neither ends the process by itself, however often it
    /// comes; before, both do. Called once in a process.
    package static func bySignal() async -> ProcessEnd {
        let end = ProcessEnd()
        for signal in [SIGTERM, SIGINT] {
            let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
            // It is there for as long as the process, which nobody else keeps it for.
            source.setEventHandler { withExtendedLifetime(source) { end.ask() } }
            // Dispatch takes the signal from then on. To ignore it beforehand would lose one that comes meanwhile.
            await withCheckedContinuation { (registered: CheckedContinuation<Void, Never>) in
                source.setRegistrationHandler { registered.resume() }
                source.activate()
            }
        }
        return end
    }
}
