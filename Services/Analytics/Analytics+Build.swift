import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// Events are cheap to lose with the power and many, so a commit does not wait for the disk.
let analyticsPlan = ServicePlan(
    name: "analytics", tables: EventLog.tables + SalesLog.tables, synchronous: .normal)

func buildAnalytics(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    routes.write("analytics.event.v1", AppEvent.self) { message, request, transaction in
        let event = try Event(name: message.name, body: request.document())
        try EventLog.add(event, by: request.caller, in: transaction)
        return try BusReply(Accepted(), documents: [JSON.object([:]).serialized])
    }

    routes.write("analytics.orderMade.v1", OrderMade.self) { order, _, transaction in
        try SalesLog.add(order, in: transaction)
        return try BusReply(Accepted())
    }

    routes.function("analyticsEvents") { parameters, request in
        try request.requireAdmin()
        let limit = try parameters.listLimit()
        guard let name = parameters["name"]?.stringValue, Event.isName(name) else { throw Event.invalidName }
        return try .result(.array(await host.store.read { try EventLog.newest(name, limit: limit, $0) }))
    }
}
