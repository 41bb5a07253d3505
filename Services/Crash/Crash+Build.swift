import Foundation
import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The end of the process loses no report that was answered; the end of the power may lose the last second's.
package let crashPlan = ServicePlan(
    name: "crash", tables: Projects.tables + EventStore.tables + IssueLog.tables, synchronous: .normal)

func buildCrash(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let settings = try CrashConfiguration(host.configuration)
    let intake = ReportIntake(host: host, rates: KeyRates(perMinute: settings.reportsPerMinute))

    routes.task("crash.envelope.v1", CrashReport.self) { message, request in
        do {
            let eventId = try await intake.take(message, request)
            return try BusReply(
                CrashAnswer.with { $0.status = 200 }, documents: [(["id": .string(eventId)] as JSON).serialized])
        } catch let refusal as ReportRefusal {
            return try BusReply(CrashAnswer(refusal))
        }
    }
    routes.task("crash.appReport.v1", AppEvent.self) { _, request in
        try await intake.take(appReport: request)
        return try BusReply(Accepted(), documents: [JSON.object([:]).serialized])
    }
    routes.write("crash.userDeleted.v1", UserDeleted.self) { user, _, transaction in
        try EventStore.forget(user.userID, in: transaction)
        try IssueLog.forget(user.userID, in: transaction)
        return try BusReply(Accepted())
    }
    CrashFunctions(host: host, dsn: settings.dsn).install(&routes)
    host.whenWriter("key", every: .seconds(300), problem: "The file with the crash key cannot be used.") {
        try await DefaultKeyFile(path: host.configuration.dataDirectory + "/crash.key").match(host.store)
        return .finished
    }
}

extension CrashAnswer {
    fileprivate init(_ refusal: ReportRefusal) {
        self.init()
        status = refusal.status
        detail = refusal.detail
        if case .tooMany(let seconds) = refusal { retryAfterSeconds = UInt32(clamping: seconds) }
    }
}
