import MailService
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import Testing

/// The operators' list of mails.
@Suite struct MailListTests {
    /// Mails about orders with these numbers; 0 for a mail without an order.
    private static func queued(_ orderNumbers: [Int64]) async throws -> SandboxStore {
        let box = try await SandboxStore(mailPlan)
        try await box.store.write { transaction in
            for (index, number) in orderNumbers.enumerated() {
                let mail = SendMailRequest.with {
                    $0.template = number == 0 ? "password-reset" : "order-shipped"
                    $0.toAddress = "ann@shop.example"
                    $0.orderNumber = number
                }
                try MailQueue.add(mail, key: "mail-\(index)", in: transaction)
            }
            try transaction.execute("UPDATE mails SET state = 'sent' WHERE id = 1")
        }
        return box
    }

    private static func list(_ parameters: JSON, in box: SandboxStore) async throws -> [JSON] {
        let list = try MailList(parameters)
        return try await box.store.read { try list.read(in: $0) }
    }

    @Test func mailsOfAnOrderAreListedTheNewestFirst() async throws {
        let box = try await Self.queued([1_000_001, 0, 1_000_001, 1_000_002])
        let all = try await Self.list([:], in: box)
        #expect(all.map { $0["orderNo"] } == [1_000_002, 1_000_001, nil, 1_000_001])
        let mails = try await Self.list(["orderNo": 1_000_001], in: box)
        #expect(mails.map { $0["id"] } == [3, 1])
        #expect(mails.allSatisfy { $0["orderNo"] == 1_000_001 && $0["template"] == "order-shipped" })
        #expect(mails.first?["to"] == "a…@shop.example")
        let ofAdmins = try await box.store.read { try MailList([:]).read(in: $0, showsAddresses: true) }
        #expect(ofAdmins.first?["to"] == "ann@shop.example")
        #expect(try await Self.list(["orderNo": 1_000_001, "state": "sent"], in: box).map { $0["id"] } == [1])
        #expect(try await Self.list(["orderNo": 7], in: box).isEmpty)
    }

    @Test(
        .enabled(if: testsRunOnSQLite),
        arguments: [["orderNo": 1_000_001], ["orderNo": 1_000_001, "state": "sent"]] as [JSON])
    func mailsOfAnOrderAreFoundByAnIndex(_ parameters: JSON) async throws {
        let box = try await Self.queued([])
        let list = try MailList(parameters)
        let plan = try await box.store.read { try list.plan(in: $0) }
        #expect(plan.contains("mailsOfOrder (orderNo=?)") && !plan.contains("SCAN"), "\(plan)")
    }

    @Test(arguments: [["orderNo": 0], ["orderNo": "1000001"], ["orderNo": 1.5], ["state": "lost"]] as [JSON])
    func whatMeansNothingIsRefused(_ parameters: JSON) async {
        #expect(await parseCode { _ = try MailList(parameters) } == 142)
    }
}
