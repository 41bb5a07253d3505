import Foundation
import MessageBus
import Messages
import ParseProtocol
import ProcessKit
import ServiceKit

/// Commits do not wait for the disk: a power failure may lose the reports of the last second. A crash of the process
/// loses no acknowledged report.
package let crashPlan = ServicePlan(name: "crash", migrations: crashMigrations, synchronous: .normal)

package func buildCrash(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let settings = try CrashConfiguration(host.configuration.settings)
    let zone = try ShopZone.ofShop(host.configuration.settings)
    let reports = Inbox(host) { try TakenReport($0).count(zone, in: $1) }
    let intake = ReportIntake(
        host: host, rates: KeyRateLimits(perMinute: settings.reportsPerMinute), reports: reports, zone: zone)

    routes.task(framed: CrashCalls.envelope) { message, request in
        do {
            let eventId = try await intake.take(message, request)
            return try BusReply(
                CrashAnswer.with { $0.status = 200 }, documents: [(["id": .string(eventId)] as JSON).serialized])
        } catch let refusal as ReportRefusal {
            return try BusReply(CrashAnswer(refusal))
        }
    }
    routes.task(framed: CrashCalls.appReport) { _, request in
        try await intake.take(appReport: request)
        return try BusReply(Accepted(), documents: [JSON.object([:]).serialized])
    }
    routes.accept(NotificationCalls(to: crashPlan.name).userDeleted) { user, _, transaction in
        try reports.settle(user.userID, in: transaction)
        try AccountDeletion.forget(user.userID, in: transaction)
    }
    CrashFunctions(host: host, dsn: settings.dsn, zone: zone).install(&routes)
    host.whenWriter("retention", every: CrashRetention.pause, problem: "Old figures could not be removed.") {
        try await host.store.write(for: nil) { try CrashRetention.removeSome(in: $0) } ? .more : .idle
    }
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
