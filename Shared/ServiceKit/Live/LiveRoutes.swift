import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// The routes of live queries (Shared/Messages/Protos/live.proto).
extension ServiceRoutes {
    mutating func installLive() {
        let calls = ObjectCalls(of: host.plan.name)
        let host = host
        let log = host.writers == .every ? LiveLog(host.store) : nil
        let feed = log?.feed ?? LiveFeedThread(host.store)
        if let log { host.background.add(log.work(host.logger)) }
        host.whenStopping { _ in feed.stop() }

        task(calls.liveSubscribe) { message, request in
            guard host.store.role == .writer else {
                throw ParseError(.serviceUnavailable, "This replica does not write. Try again.")
            }
            let query = try LiveQuery(
                className: message.className, condition: request.documents.first ?? [], keys: message.keys,
                watch: message.watch)
            let principal = request.envelope.principal
            let caller = host.plan.caller(principal, reading: query.className)
            try await host.store.read(for: request.share) { try $0.checkLive(query, caller: caller) }
            guard !message.checks else { return LiveSubscribed() }
            // Takes the earlier changes first, so that the new subscription gets no notices of them.
            try await log?.take(for: request.share)
            let (answer, isSettled) = try await feed.subscribe(
                .init(
                    message, query, caller, client: principal.fairnessKey,
                    network: principal.fairnessKey == 0 ? nil : ClientNetwork(principal.network)))
            if !isSettled {
                // Waits for jobs that began before the class was watched: they may not report its changes. Every later
                // job does.
                if let log {
                    try await log.watch(query.className, for: request.share)
                } else {
                    try await host.store.write(for: request.share) { _ in }
                }
                feed.settle(query.className, in: answer.feed)
            }
            return answer
        }

        // Runs on the lane itself, which also submits the writes that follow.
        read(calls.liveHold) { message, _, _ in
            feed.hold(message)
            return Accepted()
        }

        task(calls.liveUnsubscribe) { message, _ in
            feed.unsubscribe(message)
            return Accepted()
        }

        task(framed: calls.liveNext) { message, _ in
            guard host.store.role == .writer else {
                throw ParseError(.serviceUnavailable, "This replica does not write. Try again.")
            }
            let (news, documents) = try await feed.next(message)
            return try BusReply(news, documents: documents)
        }
    }
}
