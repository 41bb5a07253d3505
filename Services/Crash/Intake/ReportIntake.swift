import Compression
import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// Decodes the bytes from an SDK and stores the event.
struct ReportIntake: Sendable {
    let host: ServiceHost
    let rates: KeyRateLimits
    let reports: Inbox
    /// The shop's zone, in which days are counted.
    let zone: ShopZone
    private let unpacking = BlockingQueue("reports")

    /// Compressed size limit. A report with all its variables and breadcrumbs has some tens of kilobytes compressed.
    private static let bodyBytesMax = 1 << 20
    /// Uncompressed size limit: Sentry SDKs may add screenshots and similar attachments, which are skipped.
    private static let unpackedBytesMax = 20 << 20

    /// - Returns: the event's id. Envelopes without an event get one too, as in Sentry.
    /// - Throws: `ReportRefusal`.
    func take(_ message: CrashReport, _ request: ServiceRequest) async throws -> String {
        guard let body = request.documents.first else { throw ReportRefusal.malformed }
        guard body.count <= Self.bodyBytesMax else { throw ReportRefusal.tooLarge }
        // Every copy of the app contains the key, so the rate is also limited by address.
        do {
            try host.quotas.take(of: .crashReports, by: request.caller)
        } catch let error as ParseError {
            throw ReportRefusal.tooMany(seconds: error.retryAfterSeconds ?? 1)
        }
        guard let encoding = ContentEncoding(header: message.contentEncoding) else {
            throw ReportRefusal.unsupportedEncoding
        }
        // A key outside the body is checked before the body is read.
        if !message.publicKey.isEmpty { try await admit(message.publicKey, message.projectID, request) }
        let isEvent = message.isEvent
        let report = try await unpacking.run { try Self.read(body, encoding, isEvent: isEvent) }
        if message.publicKey.isEmpty {
            guard let key = report.publicKey else { throw ReportRefusal.keyMissing }
            try await admit(key, message.projectID, request)
        }
        guard report.event != nil || !report.sessions.isEmpty, let projectId = Int64(message.projectID) else {
            return report.eventId
        }
        return try await host.store.write(for: request.share) { [reports, zone] transaction in
            let sessions = report.sessions.compactMap {
                AppSession($0, projectId: projectId, zone: zone, now: transaction.now)
            }
            let taken = TakenReport(projectId: projectId, event: report.event, sessions: sessions)
            try reports.add(taken, zone, in: transaction)
            return report.event?.eventId ?? report.eventId
        }
    }

    /// Accepts a crash report that an SDK of hosted Parse sends as an app event. It goes to the default project, with
    /// the same limits as Sentry's reports; the app's keys replace the project's key.
    /// - Throws: `.invalidJSON` (107), `.objectTooLarge` (116), `.requestLimitExceeded` (155).
    func take(appReport request: ServiceRequest) async throws {
        guard let body = request.documents.first, body.count <= Self.bodyBytesMax else {
            throw ParseError(.objectTooLarge, "A crash report has at most \(Self.bodyBytesMax) bytes.")
        }
        try host.quotas.take(of: .crashReports, by: request.caller)
        let report = try JSON(clientText: body)
        guard case .object = report else { throw ParseError(.invalidJSON, "A crash report is a JSON object.") }
        let event = StoredEvent(AppCrashReport.event(report), eventId: Hex.random(bytes: 16))
        let taken = TakenReport(projectId: Projects.defaultId, event: event, sessions: [])
        try await host.store.write(for: request.share) { [reports, zone] in try reports.add(taken, zone, in: $0) }
    }

    private func admit(_ key: String, _ projectId: String, _ request: ServiceRequest) async throws {
        try await host.store.read(for: request.share) { try Projects.admit(key, to: projectId, $0) }
        try rates.take(key)
    }

    private struct Report: Sendable {
        let eventId: String
        let publicKey: String?
        let event: StoredEvent?
        let sessions: [JSON]
    }

    /// Runs all work that takes memory, on its own thread: one report is unpacked at a time, and only one event's text
    /// waits for the database.
    private static func read(_ body: [UInt8], _ encoding: ContentEncoding, isEvent: Bool) throws -> Report {
        let bytes: [UInt8]
        do {
            bytes = try Inflater.unpack(body, encoding, bytesMax: unpackedBytesMax)
        } catch Inflater.Problem.tooLarge {
            throw ReportRefusal.tooLarge
        } catch {
            throw ReportRefusal.malformed
        }
        let envelope = try isEvent ? SentryEnvelope(event: bytes) : SentryEnvelope(envelope: bytes)
        return Report(
            eventId: envelope.eventId, publicKey: envelope.publicKey,
            event: envelope.event.map { StoredEvent($0, eventId: envelope.eventId) }, sessions: envelope.sessions)
    }
}
