import NIOCore
import Synchronization

/// Passes messages from the hub to a connection's event loop.
final class LiveSocketSink: LiveSink {
    private struct State {
        var messages: [(subscription: LiveSubscription, message: LiveMessage)] = []
        var loop: (any EventLoop)?
        var wake: (@Sendable () -> Void)?
        var isStopped = false
    }

    private let state = Mutex(State())

    /// - Parameter wake: called on the loop when messages are available.
    func open(_ loop: any EventLoop, wake: @escaping @Sendable () -> Void) {
        state.withLock {
            $0.loop = loop
            $0.wake = wake
        }
    }

    func close() { state.withLock { $0 = State() } }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    func deliver(_ messages: SubscriptionRegistry.Deliveries.SubSequence) {
        state.withLock { state in
            guard let loop = state.loop, let wake = state.wake else { return }
            let isAwake = !state.messages.isEmpty
            state.messages += messages
            if !isAwake { loop.execute(wake) }
        }
    }

    func take() -> [(subscription: LiveSubscription, message: LiveMessage)] {
        state.withLock { state in
            defer { state.messages = [] }
            return state.messages
        }
    }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            if let loop = state.loop, let wake = state.wake { loop.execute(wake) }
        }
    }
}
