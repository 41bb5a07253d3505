import NIOCore
import ProcessKit
import Synchronization

/// The connections that are open, or for which something is still at work.
package final class OpenConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isEnding = false
    }

    private let state = Mutex(State())
    private let lastOne = ProcessEnd()

    /// None yet.
    package init() {}

    /// One of them.
    struct Place {
        fileprivate let id: ObjectIdentifier
    }

    /// - Returns: what `leave` is told; nil when there are to be no more.
    func enter(_ channel: any Channel) -> Place? {
        state.withLock { state in
            guard !state.isEnding else { return nil }
            let place = Place(id: ObjectIdentifier(channel))
            state.channels[place.id] = channel
            return place
        }
    }

    /// The connection is closed and nothing works for it.
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
