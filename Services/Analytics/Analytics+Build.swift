import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
import ServiceKit

/// Commits do not wait for the disk: there are many events, and a power failure may lose some. A crash of the process
/// loses none.
package let analyticsPlan = ServicePlan(
    name: "analytics",
    migrations: analyticsMigrations,
    synchronous: .normal)

package func buildAnalytics(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let zone = try ShopZone.ofShop(host.configuration.settings)
    let events = Inbox(host) { item, transaction in
        try EventIntake.take(
            Event(name: item.kind, body: item.body), by: item.caller, at: item.receivedAt, zone: zone, in: transaction)
    }
    routes.write(framed: AnalyticsCalls.event) { message, request, transaction in
        try EventQuota.admit(bytes: request.documents.first?.count ?? 0, by: request.caller, in: transaction)
        guard let body = request.documents.first else {
            throw ParseError(.invalidJSON, "The request has no document.")
        }
        // Events are validated when they are counted. If that happens later, validate here too, so that the client gets
        // the error.
        if events.waits { _ = try Event(name: message.name, body: body) }
        try events.add(.init(message.name, body, by: request.caller, at: transaction.now), in: transaction)
        return try BusReply(Accepted(), documents: [JSON.object([:]).serialized])
    }
    routes.accept(AnalyticsCalls.requests) { counts, _, transaction in
        try RequestCountsLog.add(counts, zone: zone, in: transaction)
    }
    let news = NotificationCalls(to: analyticsPlan.name)
    // Idempotent by the order's row.
    routes.accept(news.orderMade, keyed: false) { order, _, transaction in
        try SalesLog.add(order, zone: zone, in: transaction)
    }
    routes.accept(news.orderChanged) { change, _, transaction in
        try SalesLog.add(change, zone: zone, in: transaction)
    }
    routes.accept(news.userDeleted) { user, _, transaction in
        try events.settle(user.userID, in: transaction)
        try AccountDeletion.forget(user.userID, in: transaction)
    }
    AnalyticsFunctions(
        store: host.store, currency: try Currency.ofShop(host.configuration.settings), zone: zone
    ).install(&routes)
    PastFigures.install(host, &routes)
    let logBytesMax = host.quotas.settings.ceiling(.eventLogBytesMax)
    host.whenWriter("retention", every: Retention.pause, problem: "Old figures could not be removed.") {
        try await Retention(store: host.store, logBytesMax: logBytesMax).removeSome() ? .more : .idle
    }
}

/// The quota of accepted events: each is a row that is kept for long.
private enum EventQuota {
    /// Bytes of a row in addition to the client's data: name, times, user and installation, and entries in two indexes.
    private static let rowBytes = 200

    /// - Throws: `.requestLimitExceeded` (155) when events arrive too fast, `.serviceUnavailable` (2) when the disk is
    ///   nearly full.
    static func admit(bytes: Int, by caller: Caller, in transaction: StoreTransaction) throws {
        try transaction.quotas.requireDiskSpace(for: caller)
        try transaction.quotas.take([(.events, 1), (.eventBytes, bytes + rowBytes)], by: caller)
    }
}

/// Adds one event to the log and to every roll-up, in one transaction.
package enum EventIntake {
    /// - Parameter now: when it arrived; nil for now.
    package static func take(
        _ event: Event, by caller: Caller, at now: Timestamp? = nil, zone: ShopZone = .utc,
        in transaction: StoreTransaction
    ) throws {
        let now = now ?? transaction.now
        let isOfDeleted = try caller.userId.map { try DeletedUsers.contains($0, in: transaction) } ?? false
        let caller = isOfDeleted ? Caller.anonymous : caller
        let moment = event.countedAt(now: now)
        let day = zone.day(of: moment)
        let installationId = caller.installationId.map(EventLog.shortened)
        try EventLog.add(event, by: caller, at: now, in: transaction)
        try EventCounts.add(event, at: moment, zone, in: transaction)
        if let userId = caller.userId { try ActiveIds.add(userId, .users, day: day, in: transaction) }
        if let installationId, !installationId.isEmpty {
            try ActiveIds.add(installationId, .installations, day: day, in: transaction)
        }
        if let pushHash = event.pushHash, event.name == Event.opened {
            try PushOpens.add(pushHash, day: day, in: transaction)
            if let userId = caller.userId, !pushHash.isEmpty {
                try PushTaps.add(pushHash, of: userId, at: moment, in: transaction)
            }
        }
    }
}
