import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

let pushPlan = ServicePlan(
    name: "push",
    classes: [.installation, .promotion],
    rules: ["_Installation": InstallationRules()],
    tables: Notifications.tables)

func buildPush(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let provider = host.configuration.reader.string(forKey: "satchel.push", default: "spool")
    guard provider == "spool" else { throw UnknownPushProvider(name: provider) }

    routes.write("push.orderMade.v1", OrderMade.self) { order, _, transaction in
        try Notifications.add(order, in: transaction)
        return try BusReply(Accepted())
    }
}

/// `SATCHEL_PUSH` names a provider that is not built. Starting anyway would lose notifications silently.
struct UnknownPushProvider: Error, CustomStringConvertible {
    let name: String
    var description: String { "SATCHEL_PUSH=\(name) is not available in this version; use spool." }
}
