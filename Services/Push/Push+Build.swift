import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

package let pushPlan = ServicePlan(
    name: "push",
    classes: [.installation, .promotion, .pushStatus, .audience],
    tables: Notifications.tables + PushTables.all
) { _ in
    [
        "_Installation": InstallationRules(), Audiences.className: AudienceRules(),
        Pushes.statusClass: PushStatusRules(),
    ]
}

func buildPush(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let provider = try PushConfiguration.provider(
        reader: host.configuration.reader, dataDirectory: host.configuration.dataDirectory)
    let sender = PushSender(
        store: host.store, provider: provider, background: host.background, logger: host.logger)
    let spreader = PushSpreader(store: host.store, sender: sender, logger: host.logger)

    routes.write("push.send.v1", SendPushRequest.self) { _, request, transaction in
        guard request.caller.isMaster else {
            throw ParseError(.operationForbidden, "A push is sent with the master key.")
        }
        let draft = try PushDraft(try request.document(), now: transaction.now)
        let id = try Pushes.add(draft, source: "rest", in: transaction)
        transaction.afterCommit { spreader.wake() }
        return try BusReply(SendPushReply.with { $0.pushID = id })
    }
    routes.write("push.orderMade.v1", OrderMade.self) { order, _, transaction in
        try Notifications.add(order, in: transaction)
        transaction.afterCommit { sender.wake() }
        return try BusReply(Accepted())
    }
    routes.write("push.orderChanged.v1", OrderChanged.self) { order, _, transaction in
        try Notifications.add(order, in: transaction)
        transaction.afterCommit { sender.wake() }
        return try BusReply(Accepted())
    }
    routes.write("push.userDeleted.v1", UserDeleted.self) { user, _, transaction in
        try Notifications.forget(user.userID, in: transaction)
        return try BusReply(Accepted())
    }
    PromotionFunctions(host: host, spreader: spreader).install(in: &routes)
    host.background.add(spreader.work)
    host.background.add(sender.work)
    host.whenStopping { await sender.stop(within: $0) }
}
