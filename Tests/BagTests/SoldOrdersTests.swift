import BagService
import Messages
import ParseProtocol
import ServiceSupport
import Testing

/// The sales from which analytics writes its own anew.
@Suite struct SoldOrdersTests {
    @Test func salesAndRefundsAreThoseOfTheMessages() async throws {
        let bag = try await BagStore()
        let news = NotificationCalls(to: "analytics")
        let (order, _) = try await bag.bag(of: "u1")
        try await CheckoutLedgerTests.make(try await bag.start([:], by: "u1"), in: bag)
        for amount in [100, 50] as [Int64] {
            let id = try await bag.begin(.refund(amount), order)
            #expect(await bag.runner(RefundPayments()).outcome(of: id, within: .seconds(20)) == .done)
        }
        let (made, changed) = (try bag.events.all(news.orderMade), try bag.events.all(news.orderChanged))
        #expect(made.count == 1 && changed.count == 2)

        let page = try await bag.store.read { try SoldOrders.page(after: "", at: .now, in: $0) }
        #expect(page["next"] == .null)
        #expect((page["at"]?.intValue ?? 0) >= (changed.last?.changedAt ?? .max))
        let sale = try #require(page["sales"]?.arrayValue?.first)
        #expect(page["sales"]?.arrayValue?.count == 1)
        #expect(sale["orderId"]?.stringValue == made.first?.orderID)
        #expect(sale["orderNumber"]?.intValue == made.first?.orderNumber)
        #expect(sale["userId"]?.stringValue == made.first?.userID)
        #expect(sale["totalMinorUnits"]?.intValue == made.first?.totalMinorUnits)
        #expect(sale["currency"]?.stringValue == made.first?.currency)
        #expect(sale["pieces"]?.intValue == made.first.map { Int64($0.pieces) })
        #expect(sale["madeAt"]?.intValue == made.first?.madeAt)
        let changes = sale["changes"]?.arrayValue ?? []
        #expect(changes.compactMap { $0["status"]?.intValue } == changed.map { Int64($0.status) })
        #expect(changes.compactMap { $0["refundedMinorUnits"]?.intValue } == changed.map(\.refundedMinorUnits))
        #expect(changes.compactMap { $0["changedAt"]?.intValue } == changed.map(\.changedAt))

        let rest = try await bag.store.read { try SoldOrders.page(after: made.first?.orderID ?? "", at: .now, in: $0) }
        #expect(rest["sales"] == [])
    }

    /// A cancellation without a refund is a separate change.
    @Test(arguments: [true, false]) func aCancelledOrderHasItsCancellationOnce(_ isRefundedBefore: Bool) async throws {
        let bag = try await BagStore()
        let news = NotificationCalls(to: "analytics")
        let (order, _) = try await bag.bag(of: "u1")
        try await CheckoutLedgerTests.make(try await bag.start([:], by: "u1"), in: bag)
        if isRefundedBefore {
            let id = try await bag.begin(.refund(nil), order)
            #expect(await bag.runner(RefundPayments()).outcome(of: id, within: .seconds(20)) == .done)
            _ = try await bag.perform(.cancel, order)
        } else {
            let id = try await bag.begin(.cancel, order)
            #expect(await bag.runner(RefundPayments()).outcome(of: id, within: .seconds(20)) == .done)
        }
        let changed = try bag.events.all(news.orderChanged)
        #expect(changed.count == (isRefundedBefore ? 2 : 1))
        let page = try await bag.store.read { try SoldOrders.page(after: "", at: .now, in: $0) }
        let changes = page["sales"]?.arrayValue?.first?["changes"]?.arrayValue ?? []
        #expect(changes.compactMap { $0["status"]?.intValue } == changed.map { Int64($0.status) })
        #expect(changes.compactMap { $0["refundedMinorUnits"]?.intValue } == changed.map(\.refundedMinorUnits))
        #expect(changes.compactMap { $0["changedAt"]?.intValue } == changed.map(\.changedAt))
    }
}
