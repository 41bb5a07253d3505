import Foundation
import MailService
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// Mails that are not sent any more wait for an operator while their content is stored.
@Suite struct ParkedMailTests {
    private let box: SandboxStore
    private let kind = ParkedMails.kind {}

    init() async throws {
        box = try await SandboxStore(mailPlan)
        for (index, state) in ["queued", "sent", "failed", "bounced", "suppressed", "held"].enumerated() {
            let message = SendMailRequest.with {
                $0.template = "password-reset"
                $0.toAddress = "ann+\(index)@shop.example"
                $0.model = Data("{}".utf8)
            }
            try await box.store.write { transaction in
                try MailQueue.add(message, key: "mail-\(index)", in: transaction)
                _ = try transaction.execute(
                    "UPDATE mails SET state = ?, attempts = 1, problem = '550 No' WHERE key = ?",
                    [.text(state), .text("mail-\(index)")])
            }
        }
    }

    private func parked() async throws -> [ParkedKind.Item] {
        let (items, count) = try await box.store.read { [kind] in (try kind.list(10, $0), try kind.count($0)) }
        #expect(count == Int64(items.count))
        return items
    }

    private func retry(_ id: String) async throws -> ParkedKind.Item? {
        try await box.store.write { [kind] in try kind.retry(id, $0) }
    }

    private func drop(_ id: String) async throws -> ParkedKind.Item? {
        try await box.store.write { [kind] in try kind.drop(id, $0) }
    }

    @Test func whatWasGivenUpIsListedWithoutAddressesOrContent() async throws {
        let items = try await parked()
        #expect(items.map(\.id) == ["6", "5", "4", "3"])
        #expect(items.allSatisfy { $0.about == "password-reset to a…@shop.example" && $0.reason == "550 No" })
        #expect(items.allSatisfy { $0.attempts == 1 })
    }

    @Test func addressesInTheServersAnswerAreMasked() async throws {
        let texts = [
            "550 5.1.1 <rob@shop.example>: unknown": "550 5.1.1 <r…@shop.example>: unknown",
            "No mailbox 'rob.long@shop.example', rob": "No mailbox 'r…@shop.example', rob", "550 No": "550 No", "": "",
        ]
        for (text, shown) in texts {
            try await box.store.write { transaction in
                _ = try transaction.execute("UPDATE mails SET problem = ?", [.text(text)])
            }
            #expect(try await parked().allSatisfy { $0.reason == shown }, "\(text)")
        }
    }

    @Test(.enabled(if: testsRunOnSQLite)) func theyAreCountedByTheirIndex() async throws {
        let plan = try await box.store.read { reader in
            try reader.rows(
                """
                EXPLAIN QUERY PLAN SELECT count(*) AS count FROM mails
                WHERE state IN ('failed', 'bounced', 'suppressed', 'held') AND length(model) > 0
                """, []
            ).map { try $0.text("detail") }
        }
        #expect(plan.allSatisfy { $0.contains("mailsParked") }, "\(plan)")
    }

    @Test func aRetriedMailIsQueuedAndADroppedOneOnlyRecorded() async throws {
        #expect(try await retry("4")?.id == "4")
        #expect(try await box.count("SELECT count(*) FROM mails WHERE id = 4 AND state = 'queued'") == 1)
        #expect(try await drop("3")?.id == "3")
        let kept = "SELECT count(*) FROM mails WHERE id = 3 AND state = 'failed' AND length(model) = 0"
        #expect(try await box.count(kept) == 1)
        #expect(try await parked().map(\.id) == ["6", "5"])
        for id in ["1", "2", "3", "4", "99", "x", ""] {
            #expect(try await retry(id) == nil, "\(id)")
            #expect(try await drop(id) == nil, "\(id)")
        }
    }

    @Test func aMailIsParkedWhileItsContentIsStored() async throws {
        try await box.store.write { transaction in
            _ = try transaction.execute("UPDATE mails SET dueAt = dueAt - 8 * 86400000 WHERE id <= 4")
            try MailQueue.forgetContent(in: transaction)
        }
        #expect(try await parked().map(\.id) == ["6", "5"])
    }
}
