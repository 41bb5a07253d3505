import Foundation
import Logging
import MailService
import Messages
import ObjectStore
import Outbound
import ParseProtocol
import ServiceKit
import ServiceSupport
import TestSupport
import Testing

/// The mail service's queue and sender with a chosen transport, on a real store.
final class MailPost: Sendable {
    let box: SandboxStore
    let sender: MailSender
    private let work: Task<Void, Never>

    init(
        _ transport: any MailTransport, connections: Int = 4, retry: Duration = .milliseconds(200),
        giveUpAfter: Duration = .seconds(3600), from: String = "shop@shop.example", roomMin: Int = 1
    ) async throws {
        box = try await SandboxStore(mailPlan)
        let composer = MailComposer(
            sender: try #require(MailAddress(from, name: "Shop")), shopName: "Beauty & Me",
            templates: try MailTemplates())
        var logger = Logger(label: "mail-test")
        logger.logLevel = .critical
        var settings = MailSender.Settings(
            schedule: RetrySchedule(first: retry, longest: retry, giveUpAfter: giveUpAfter), connections: connections)
        settings.roomMin = roomMin
        let sender = MailSender(
            queue: MailQueue(store: box.store), composer: composer, transport: transport, settings: settings,
            background: BackgroundGroup(), logger: logger)
        self.sender = sender
        work = Task { await sender.work.run() }
    }

    deinit { work.cancel() }

    /// Requests a mail with a link, as another service does.
    func ask(_ to: String, template: String = "password-reset", key: String = Names.random(12)) async throws {
        let message = SendMailRequest.with {
            $0.template = template
            $0.toAddress = to
            $0.toName = "Ann"
            $0.model = Data(MailTemplateTests.link.serialized)
        }
        try await box.store.write { try MailQueue.add(message, key: key, in: $0) }
        sender.wake()
    }

    struct Row: Equatable {
        let state: String
        let attempts: Int64
        let problem: String
        let contentBytes: Int64
    }

    /// The stored content of the mail to an address.
    func content(_ to: String) async throws -> String {
        let rows = try await box.store.write {
            try $0.rows("SELECT model FROM mails WHERE toAddress = ?", [.text(to)])
        }
        return String(decoding: try #require(rows.first).blob("model"), as: UTF8.self)
    }

    func row(_ to: String) async throws -> Row {
        let rows = try await box.store.write {
            try $0.rows("SELECT *, length(model) AS size FROM mails WHERE toAddress = ?", [.text(to)])
        }
        let row = try #require(rows.first)
        return try Row(
            state: row.text("state"), attempts: row.int("attempts"), problem: row["problem"].textValue ?? "",
            contentBytes: row.int("size"))
    }

    /// Waits until the mail is in one of the given states.
    @discardableResult func untilIt(
        is states: String..., to: String, attempts: Int64 = 1, within limit: Duration = .seconds(90)
    ) async throws -> Row {
        var row = try await self.row(to)
        do {
            try await eventually("the mail to \(to) is \(states)", within: limit) {
                row = try await self.row(to)
                return states.contains(row.state) && row.attempts >= attempts
            }
        } catch let error as NeverHappened {
            throw NeverHappened("\(error) It is \(row).")
        }
        return row
    }

    func suppressed() async throws -> [String] {
        try await box.store.write { try $0.rows("SELECT address FROM suppressedAddresses ORDER BY address", []) }
            .map { try $0.text("address") }
    }
}

/// A third-party SMTP server and the transport to it.
struct MailServer {
    let peer: Peer
    let authority: String

    static func with(_ arguments: [String] = [], _ body: (MailServer) async throws -> Void) async throws {
        let authority = FileManager.default.temporaryDirectory.path + "/authority-\(Names.random(10)).pem"
        defer { try? FileManager.default.removeItem(atPath: authority) }
        try await Peer.with("smtp.py", ["--ca", authority] + arguments) {
            try await body(MailServer(peer: $0, authority: authority))
        }
    }

    /// - Parameter change: makes the settings invalid.
    func transport(_ change: (inout SMTPTransport.Settings) -> Void = { _ in }) -> SMTPTransport {
        var settings = SMTPTransport.Settings(url: "smtp://localhost:\(peer.port)", timeout: .seconds(20))
        change(&settings)
        return SMTPTransport(settings, client: OutboundClient(authorities: authority))
    }

    func mails(to address: String? = nil) -> [JSON] {
        peer.reports().filter { report in
            report["event"] == "mail" && (address == nil || report["envelopeTo"] == [.string(address ?? "")])
        }
    }

    func attempts(to address: String) -> Int {
        peer.reports().count { $0["event"] == "rcpt" && $0["to"] == .string(address) }
    }
}
