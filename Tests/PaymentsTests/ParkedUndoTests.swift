import Logging
import Messages
import ParseProtocol
import PaymentsService
import ServiceKit
import ServiceSupport
import Testing

/// The refund of a charge without an order that the provider refuses waits for an operator.
@Suite struct ParkedUndoTests {
    private let sandbox: SandboxStore
    private let charges: Charges
    private let refunds: Refunds

    init() async throws {
        sandbox = try await SandboxStore(paymentsPlan)
        let provider = SandboxProvider(store: sandbox.store)
        charges = Charges(store: sandbox.store, provider: provider, logger: Logger(label: "test"))
        refunds = Refunds(store: sandbox.store, provider: provider, logger: Logger(label: "test"))
    }

    /// The provider refuses to refund a charge that was refunded in its dashboard.
    private func refuse() async throws {
        let request = ChargeRequest.with {
            $0.operationID = "charge1"
            $0.orderID = "order1"
            $0.userID = "alice"
            $0.amountMinorUnits = 1999
            $0.currency = "usd"
            $0.token = "tok_visa"
        }
        _ = try await charges.charge(request, for: nil)
        try await sandbox.store.write { transaction in
            _ = try transaction.execute(
                """
                INSERT INTO sandboxRefunds(key, refundId, chargeId, amount, createdAt)
                SELECT 'elsewhere', 're_elsewhere', chargeId, amount, 0 FROM charges
                """)
        }
        try await ChargeUndo(charges: charges, refunds: refunds, logger: Logger(label: "test"))
            .undo("charge1", for: nil)
    }

    private func parked() async throws -> [ParkedKind.Item] {
        let (items, count) = try await sandbox.store.read {
            (try ParkedUndos.kind.list(10, $0), try ParkedUndos.kind.count($0))
        }
        #expect(count == Int64(items.count))
        return items
    }

    private func retry(_ id: String) async throws {
        #expect(try await sandbox.store.write { try ParkedUndos.kind.retry(id, $0) } != nil)
        #expect(try await parked().isEmpty)
        try await refunds.finishDue(at: .now.advanced(by: .seconds(1)))
    }

    @Test func itIsRefundedWhenTheProviderTakesIt() async throws {
        try await refuse()
        let item = try #require(try await parked().first)
        #expect(item.id == "charge1:undo")
        #expect(item.more["amount"] == 1999)
        #expect(!item.reason.isEmpty)
        // Refused again: another operation is parked.
        try await retry(item.id)
        let again = try #require(try await parked().first)
        #expect(again.id.hasPrefix("charge1:undo:"))
        _ = try await sandbox.store.write { try $0.execute("DELETE FROM sandboxRefunds") }
        try await retry(again.id)
        #expect(try await parked().isEmpty)
        #expect(try await sandbox.count("SELECT sum(amount) FROM sandboxRefunds") == 1999)
        #expect(try await sandbox.count("SELECT count(*) FROM refunds WHERE state = 'refused'") == 2)
        #expect(try await sandbox.count("SELECT count(*) FROM refunds WHERE state = 'succeeded'") == 1)
    }

    @Test func aDroppedOneIsNotTriedAgain() async throws {
        try await refuse()
        #expect(try await sandbox.store.write { try ParkedUndos.kind.drop("charge1:undo", $0) } != nil)
        #expect(try await parked().isEmpty)
        #expect(try await sandbox.store.write { try ParkedUndos.kind.retry("charge1:undo", $0) } == nil)
        #expect(try await sandbox.count("SELECT count(*) FROM refunds WHERE state = 'created'") == 0)
    }
}
