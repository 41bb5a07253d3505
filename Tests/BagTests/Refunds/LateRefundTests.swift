import BagService
import Messages
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// A refund that was done fails later at the customer's bank.
@Suite struct LateRefundTests {
    /// A bag with a paid order and a refund that was done.
    private static func refunded(
        _ step: OrderLifecycle.Step
    ) async throws -> (bag: BagStore, kind: ParkedKind, order: String, id: String) {
        let (bag, order) = try await BagStore.paid()
        let id = try await bag.begin(step, order, restock: true)
        #expect(await bag.runner(RefundPayments()).outcome(of: id, within: .seconds(20)) == .done)
        return (bag, ParkedRefunds(orders: bag.orders) { _ in }.kind, order, id)
    }

    private static func fail(_ id: String, _ bag: BagStore) async throws {
        let refunds = bag.refunds
        try await bag.store.write { try refunds.failLater(id, "The card has expired.", in: $0) }
    }

    /// Has the parked refund made again, successfully.
    private static func retry(_ id: String, _ kind: ParkedKind, _ bag: BagStore) async throws {
        #expect(try await bag.store.write { try kind.retry(id, $0) }?.reason == "The card has expired.")
        let pending = try await bag.store.read { reader in
            try reader.rows("SELECT id FROM refunds WHERE state = 'pending'", []).first?.text("id")
        }
        let next = try #require(pending)
        #expect(await bag.runner(RefundPayments()).outcome(of: next, within: .seconds(20)) == .done)
    }

    private static func told(_ bag: BagStore) throws -> [Int64] {
        try bag.events.all(NotificationCalls(to: "analytics").orderChanged).map(\.refundedMinorUnits)
    }

    @Test func theOrderIsPaidAgainAndTheRefundIsParked() async throws {
        let (bag, kind, order, id) = try await Self.refunded(.refund(200))
        for _ in 0..<2 { try await Self.fail(id, bag) }
        let document = try #require(await bag.document("Order", order))
        #expect(document["paymentStatus"] == "paid")
        #expect(document["refundState"] == "failed")
        #expect(document["refundedTotal"] == nil && document["refundedAt"] == nil)
        #expect(try await bag.store.read { try kind.count($0) } == 1)
        #expect(try await bag.refunds.list(order, for: nil).arrayValue?.first?["state"] == "failed")
        #expect(try Self.told(bag) == [200, -200])

        try await Self.retry(id, kind, bag)
        let refunded = try #require(await bag.document("Order", order))
        #expect(refunded["paymentStatus"] == "partiallyRefunded")
        #expect(refunded["refundedTotal"] == 200)
        #expect(try Self.told(bag) == [200, -200, 200])
        #expect(try bag.events.all(CatalogCalls.restock).count == 1, "The goods are in stock already.")
    }

    @Test func aCancelledOrderStaysCancelledAndIsRefundedAgain() async throws {
        let (bag, kind, order, id) = try await Self.refunded(.cancel)
        try await Self.fail(id, bag)
        let document = try #require(await bag.document("Order", order))
        #expect(document["orderState"] == "cancelled")
        #expect(document["paymentStatus"] == "paid")
        let page = try await bag.store.read { try SoldOrders.page(after: "", at: .now, in: $0) }
        let changes = page["sales"]?.arrayValue?.first?["changes"]?.arrayValue ?? []
        #expect(changes.map { $0["refundedMinorUnits"] } == [0])
        #expect(changes.map { $0["status"] } == [-1])

        try await Self.retry(id, kind, bag)
        let refunded = try #require(await bag.document("Order", order))
        #expect(refunded["orderState"] == "cancelled")
        #expect(refunded["paymentStatus"] == "refunded")
        #expect(refunded["refundedTotal"] == 700)
        #expect(try bag.events.all(CatalogCalls.restock).count == 1)
    }

    /// The later of two refunds: the first one counts on.
    @Test func otherRefundsOfTheOrderStay() async throws {
        let (bag, _, order, _) = try await Self.refunded(.refund(200))
        let second = try await bag.begin(.refund(500), order)
        #expect(await bag.runner(RefundPayments()).outcome(of: second, within: .seconds(20)) == .done)
        #expect(try await bag.document("Order", order)?["orderState"] == "refunded")
        try await Self.fail(second, bag)
        let document = try #require(await bag.document("Order", order))
        #expect(document["orderState"] == "made")
        #expect(document["paymentStatus"] == "partiallyRefunded")
        #expect(document["refundedTotal"] == 200)
        #expect(document["refundedAt"] != nil)
    }

    @Test func aPendingOneIsDecidedFirst() async throws {
        let (bag, order) = try await BagStore.paid()
        let id = try await bag.begin(.refund(200), order)
        #expect(await parseCode { try await Self.fail(id, bag) } == 2)
        try await Self.fail("rf_unknown", bag)
    }
}
