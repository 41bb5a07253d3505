import MessageBus
import Messages
import ParseProtocol
import ServiceKit

let crashPlan = ServicePlan(name: "crash", tables: ReportLog.tables, synchronous: .normal)

func buildCrash(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    routes.write("crash.envelope.v1", CrashReport.self) { message, request, transaction in
        guard let bytes = request.documents.first else { throw SentryEnvelope.malformed }
        let envelope = try SentryEnvelope(bytes)
        try ReportLog.add(envelope, bytes, project: message.projectID, in: transaction)
        return try BusReply(Accepted(), documents: [(["id": .string(envelope.eventId)] as JSON).serialized])
    }

    routes.function("crashReports") { parameters, request in
        try request.requireAdmin()
        let limit = try parameters.listLimit()
        return try .result(.array(await host.store.read { try ReportLog.newest(limit: limit, $0) }))
    }
}
