import NIOCore
import ProcessKit
import Synchronization

/// The connections that are open, or for which a task still works.
package final class OpenConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isEnding = false
    }

    private let state = Mutex(State())
    private let allClosed = ProcessEnd()

    package init() {}

    /// The entry of one connection.
    struct Registration {
        fileprivate let id: ObjectIdentifier
    }

    /// - Returns: the argument for `leave`; nil when the server ends and accepts no more connections.
    func enter(_ channel: any Channel) -> Registration? {
        state.withLock { state in
            guard !state.isEnding else { return nil }
            let registration = Registration(id: ObjectIdentifier(channel))
            state.channels[registration.id] = channel
            return registration
        }
    }

    /// The connection is closed, and no task works for it.
    func leave(_ registration: Registration) {
        let isLast = state.withLock { state in
            state.channels[registration.id] = nil
            return state.isEnding && state.channels.isEmpty
        }
        if isLast { allClosed.ask() }
    }

    /// Closes each connection as soon as its requests are answered. Returns when none is left.
    package func end() async {
        let open = state.withLock { state in
            state.isEnding = true
            return Array(state.channels.values)
        }
        guard !open.isEmpty else { return }
        for channel in open {
            channel.eventLoop.execute {
                channel.pipeline.syncOperations.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            }
        }
        await allClosed.wait()
    }
}
