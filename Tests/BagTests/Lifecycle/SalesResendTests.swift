import BagService
import Messages
import ParseProtocol
import ServiceSupport
import Testing

/// The messages from which analytics restores lost sales.
@Suite struct SalesResendTests {
    private static func retold(_ bag: BagStore) async throws -> SalesResend.Page {
        let sales = SalesResend(outbox: bag.events, currency: .standard)
        return try await bag.store.write { try sales.tell(after: "", in: $0) }
    }

    /// Repeated messages have the same keys, so analytics counts none twice.
    @Test func salesAndRefundsAreSentAsTheFirstTime() async throws {
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
        let count = bag.events.kinds.count
        #expect(try await Self.retold(bag).orders == 1)
        #expect(bag.events.kinds.count == count, "The keys are those of the first messages.")
        bag.events.forget()
        let page = try await Self.retold(bag)
        #expect(page.next == nil)
        #expect(try bag.events.all(news.orderMade) == made)
        #expect(try bag.events.all(news.orderChanged) == changed)
        #expect(bag.events.kinds.count == 3, "Push, payments and mail hear nothing.")
    }
}
