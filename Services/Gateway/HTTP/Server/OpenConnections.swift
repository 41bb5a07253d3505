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
    private let lastOne = ProcessEnd()

    /// No connections.
    package init() {}

    /// One connection.
    struct Place {
        fileprivate let id: ObjectIdentifier
    }

    /// - Returns: the argument for `leave`; nil when the server ends and accepts no more connections.
    func enter(_ channel: any Channel) -> Place? {
        state.withLock { state in
            guard !state.isEnding else { return nil }
            let place = Place(id: ObjectIdentifier(channel))
            state.channels[place.id] = channel
            return place
        }
    }

    /// The connection is closed, and no task works for it.
    func leave(_ place: Place) {
        let isLast = state.withLock { state in
            state.channels[place.id] = nil
            return state.isEnding && state.channels.isEmpty
        }
        if isLast { lastOne.ask() }
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
        await lastOne.wait()
    }
}
