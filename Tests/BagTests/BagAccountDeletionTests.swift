import BagService
import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import TestSupport
import Testing

/// The bag service after an account was deleted: it removes the customer's identity, and keeps what the shop needs for
/// its accounts.
@Suite struct BagAccountDeletionTests {
    private static func forget(_ userId: String, in bag: BagStore) async throws {
        try await bag.store.write { try AccountDeletion.forget(userId, in: $0) }
    }

    private static func left(_ className: String, in bag: BagStore) async throws -> [JSON] {
        try await bag.store.read { try $0.documents(Query(className: className, where: [:] as JSON), caller: .master) }
    }

    @Test func whatIsOnlyTheUsersGoesAndOrdersLoseTheName() async throws {
        let bag = try await BagStore()
        let (made, madeItem) = try await bag.bag(of: "u1")
        try await CheckoutLedgerTests.make(
            try await bag.start(["note": "Ring Ann", "giftMessage": "From Ann"], by: "u1", keys: ["client:a"]), in: bag)
        let (open, item) = try await bag.bag(of: "u1")
        try await bag.save(.create, "OrderItem", nil, ["product": .pointer("Product", "comb")], by: "u1")
        try await bag.save(.create, "Address", nil, BagStore.address, by: "u1")
        let (theirs, _) = try await bag.bag(of: "u2")
        try await bag.save(.create, "Address", nil, BagStore.address, by: "u2")

        try await Self.forget("u1", in: bag)
        try await Self.forget("u1", in: bag)
        #expect(try await bag.document("Order", open) == nil)
        #expect(try await bag.document("OrderItem", item) == nil)
        #expect(try await bag.document("Order", theirs)?["customer"] == .pointer("_User", "u2"))
        #expect(try await Self.left("Address", in: bag).map { $0["owner"] } == [.pointer("_User", "u2")])
        let order = try #require(await bag.document("Order", made))
        #expect(order["orderNo"] == 1_000_001)
        #expect(order["total"] == 700)
        #expect(order["orderStatus"] == 1)
        #expect(order["orderDate"]?.wireType == "Date")
        #expect(order["items"]?.arrayValue?.count == 1)
        for name in ["customer", "shippingAddress", "note", "giftMessage"] { #expect(order[name] == nil, "\(name)") }
        #expect(order["ACL"] == ["role:admins": ["read": true]])
        let line = try #require(await bag.document("OrderItem", madeItem))
        #expect(line["customer"] == nil)
        #expect(line["quantity"] == 2)
        #expect(line["ACL"] == ["role:admins": ["read": true]])
        // The file contains no personal data any more.
        let rows = try await bag.store.read { try $0.rows("SELECT * FROM checkouts", []) }
        for row in rows where try row.text("orderId") == made {
            for column in ["customerId", "email"] { #expect(try row.text(column) == "") }
            let (fields, reply) = try (row.text("orderFields"), row.blob("reply"))
            #expect(fields == "{}")
            #expect(reply == Array("{}".utf8))
        }
        #expect(
            try await bag.store.read { try $0.rows("SELECT * FROM checkoutKeys WHERE customerId = 'u1'", []) }.isEmpty)
    }

    @Test func networksAndReasonsOfRefundsGo() async throws {
        let (bag, paid) = try await BagStore.paid()
        let master = Principal.with { $0.master = true }
        let imported = try await bag.save(
            .create, "Order", nil, ["orderStatus": 1, "customer": .pointer("_User", "u1")], as: master
        ).objectId
        try await bag.store.write { transaction in
            for order in [paid, imported] {
                try transaction.execute(
                    """
                    INSERT INTO refunds(id, orderId, checkoutId, purpose, amount, reason, restock, state, createdAt,
                    changedAt) VALUES (?, ?, '', 'refund', 100, 'Ann moved', 0, 'done', 0, 0)
                    """, [.text("rf_\(order)"), .text(order)])
            }
        }
        try await Self.forget("u1", in: bag)
        let (causes, reasons) = try await bag.store.read { reader in
            (
                try reader.rows("SELECT checkoutId FROM checkoutMailCauses").count,
                try reader.rows("SELECT reason FROM refunds").map { try $0.text("reason") }
            )
        }
        #expect(causes == 0)
        #expect(reasons == ["", ""])
    }

    @Test func refundsOfDeletedAccountsAreCompleted() async throws {
        let (bag, order) = try await BagStore.paid()
        let request = OrderLedger.StepRequest(.cancel, by: "u1", reason: "Ann moved")
        guard case .waits(let id) = try await bag.orders.perform(request, order, contact: nil, for: nil) else {
            Issue.record("A paid order is refunded.")
            return
        }
        try await Self.forget("u1", in: bag)
        bag.events.forget()
        let runner = bag.runner(RefundPayments())
        #expect(await runner.outcome(of: id, within: .seconds(20)) == .done)
        let cancelled = try #require(await bag.document("Order", order))
        #expect(cancelled["orderState"] == "cancelled")
        #expect(cancelled["refundedTotal"] == 700)
        #expect(cancelled["cancelReason"] == nil)
        #expect(try bag.events.all(MailCalls.send).isEmpty)
        #expect(try bag.events.all(CatalogCalls.restock).count == 1)
        // The shop can still process an order without a customer.
        #expect(try await bag.orders.answer(order, for: nil)["refundState"] == "done")
    }

    @Test(arguments: ["", "*", "role:admins"]) func whatIsNoUserIsRefused(userId: String) async throws {
        let bag = try await BagStore()
        #expect(await parseCode { try await Self.forget(userId, in: bag) } == 142)
    }
}
