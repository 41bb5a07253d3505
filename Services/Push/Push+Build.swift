import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
import ServiceKit

package let pushPlan = ServicePlan(
    name: "push",
    classes: [.installation, .promotion, .pushStatus, .audience],
    migrations: pushMigrations
) { _ in
    [
        "_Installation": InstallationRules(), "Promotion": PromotionRules(), Audiences.className: AudienceRules(),
        Pushes.statusClass: PushStatusRules(),
    ]
}

package func buildPush(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let provider = try PushConfiguration.provider(
        host.configuration.settings, dataDirectory: host.configuration.dataDirectory)
    let sender = PushSender(
        store: host.store, provider: provider, background: host.background, logger: host.logger)
    let spreader = PushFanout(store: host.store, sender: sender, logger: host.logger)

    routes.write(PushCalls.send) { _, request, transaction in
        guard request.isFromAdmin else {
            throw ParseError(.operationForbidden, "A push is sent with the master key.")
        }
        let draft = try PushDraft(try request.document(), now: transaction.now)
        let id = try Pushes.add(draft, source: "rest", in: transaction)
        try host.audit.note(.init("push", Pushes.statusClass, id), by: request, in: transaction)
        transaction.afterCommit { spreader.wake() }
        return SendPushReply.with { $0.pushID = id }
    }
    let news = NotificationCalls(to: pushPlan.name)
    routes.accept(news.orderMade) { order, _, transaction in
        guard try Notifications.add(order, in: transaction) > 0 else { return }
        transaction.afterCommit { sender.wake() }
    }
    routes.accept(news.orderChanged) { order, _, transaction in
        guard try Notifications.add(order, in: transaction) > 0 else { return }
        transaction.afterCommit { sender.wake() }
    }
    routes.accept(news.userDeleted) { user, _, transaction in
        try Notifications.forget(user.userID, in: transaction)
    }
    // `orderPushes {orderId}`
    routes.function("orderPushes") { parameters, request in
        try request.requireArea(.orders, .support)
        let id = try parameters.objectIdParameter("orderId")
        return try .result(
            .array(await host.store.read(for: request.share) { try Notifications.list(ofOrder: id, in: $0) }))
    }
    PromotionFunctions(host: host, spreader: spreader).install(in: &routes)
    routes.park(ParkedDeliveries.kind { sender.wake() })
    host.whenWriter(
        "push.parked", every: ParkedDeliveries.pause, problem: "Old parked deliveries could not be removed."
    ) {
        try await host.store.write(for: nil) { try ParkedDeliveries.forget(in: $0) }
        return .idle
    }
    let thumbnails = PromotionThumbnails(host: host)
    host.whenWriter(
        "promotions.thumbnails", every: PromotionThumbnails.pause, problem: "The thumbnail of a promotion failed."
    ) {
        try await thumbnails.makeNext() ? .more : .idle
    }
    host.limitStoredTimes(PushSender.waits, Pushes.waits)
    host.background.add(spreader.work)
    host.background.add(sender.work)
    host.report { reader in
        let count = try reader.rows("SELECT count(*) AS count FROM deliveries").first?.int("count")
        return [Figure(.pushesQueued, Double(count ?? 0))]
    }
    host.whenStopping { await sender.stop(within: $0) }
}
