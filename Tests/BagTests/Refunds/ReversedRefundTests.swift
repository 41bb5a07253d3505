import BagService
import Messages
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// The customer's bank reverses a refund that was done.
@Suite struct ReversedRefundTests {
    /// A bag with a paid order of 7.00 and a refund that was done.
    private static func refunded(
        _ step: OrderLifecycle.Step
    ) async throws -> (bag: BagStore, kind: ParkedKind, order: String, id: String) {
        let (bag, order) = try await BagStore.paid()
        let id = try await bag.begin(step, order, restock: true)
        #expect(await bag.runner(RefundPayments()).outcome(of: id, within: .seconds(20)) == .done)
        return (bag, ParkedRefunds(orders: bag.orders) { _ in }.kind, order, id)
    }

    private static func reverse(_ id: String, _ bag: BagStore) async throws {
        let refunds = bag.refunds
        try await bag.store.write { try refunds.reverse(id, "The card has expired.", in: $0) }
    }

    /// Has the parked refund made again, successfully.
    private static func retry(_ id: String, _ kind: ParkedKind, _ bag: BagStore) async throws {
        #expect(try await bag.store.write { try kind.retry(id, $0) }?.reason == "The card has expired.")
        let next = try #require(try await pending(bag))
        #expect(await bag.runner(RefundPayments()).outcome(of: next, within: .seconds(20)) == .done)
    }

    private static func pending(_ bag: BagStore) async throws -> String? {
        try await bag.store.read { reader in
            try reader.rows("SELECT id FROM refunds WHERE state = 'pending'", []).first?.text("id")
        }
    }

    private static func told(_ bag: BagStore) throws -> [Int64] {
        try bag.events.all(NotificationCalls(to: "analytics").orderChanged).map(\.refundedMinorUnits)
    }

    /// The changes that a rebuild sends are those that the messages sent.
    private static func expectSameChanges(_ bag: BagStore) async throws {
        let page = try await bag.store.read { try SoldOrders.page(after: "", at: .now, in: $0) }
        let changes = page["sales"]?.arrayValue?.first?["changes"]?.arrayValue ?? []
        let sent = changes.map { change -> [Int64] in
            ["changedAt", "status", "refundedMinorUnits"].map { change[$0]?.intValue ?? 0 }
        }
        let told = try bag.events.all(NotificationCalls(to: "analytics").orderChanged).map { change -> [Int64] in
            [change.changedAt, Int64(change.status), change.refundedMinorUnits]
        }
        #expect(Set(sent) == Set(told))
        #expect(sent.count == told.count)
    }

    @Test func theOrderCountsAsPaidAndTheRefundIsParked() async throws {
        let (bag, kind, order, id) = try await Self.refunded(.refund(200))
        for _ in 0..<2 { try await Self.reverse(id, bag) }
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
        try await Self.expectSameChanges(bag)
        #expect(try bag.events.all(CatalogCalls.restock).count == 1, "The goods are in stock already.")
    }

    @Test func aCancelledOrderStaysCancelledAndIsRefundedAgain() async throws {
        let (bag, kind, order, id) = try await Self.refunded(.cancel)
        try await Self.reverse(id, bag)
        let document = try #require(await bag.document("Order", order))
        #expect(document["orderState"] == "cancelled")
        #expect(document["paymentStatus"] == "paid")
        #expect(try Self.told(bag) == [700, -700])
        try await Self.expectSameChanges(bag)

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
        try await Self.reverse(second, bag)
        let document = try #require(await bag.document("Order", order))
        #expect(document["orderState"] == "made")
        #expect(document["paymentStatus"] == "partiallyRefunded")
        #expect(document["refundedTotal"] == 200)
        #expect(document["refundedAt"] != nil)
    }

    /// The retry of a cancellation is another refund, whose refusal must not be the end.
    @Test func aRetryThatIsRefusedCanBeMadeAgain() async throws {
        let (bag, kind, order, id) = try await Self.refunded(.cancel)
        try await Self.reverse(id, bag)
        let refusing = RefundPayments(refusal: ParseError(.scriptFailed, "The charge is disputed."))
        var parked = id
        for _ in 0..<2 {
            let retried = parked
            #expect(try await bag.store.write { try kind.retry(retried, $0) } != nil)
            parked = try #require(try await Self.pending(bag))
            _ = await bag.runner(refusing).outcome(of: parked, within: .seconds(20))
            let (listed, expected) = (try await bag.store.read { try kind.list(10, $0) }.map(\.id), [parked])
            #expect(listed == expected)
        }
        let last = parked
        #expect(try await bag.store.write { try kind.retry(last, $0) } != nil)
        let next = try #require(try await Self.pending(bag))
        let payments = RefundPayments()
        #expect(await bag.runner(payments).outcome(of: next, within: .seconds(20)) == .done)
        #expect(payments.seen.withLock { $0.ofCancelled } == [next])
        #expect(try await bag.document("Order", order)?["refundedTotal"] == 700)
        #expect(try await bag.store.read { try kind.count($0) } == 0)
        #expect(try bag.events.all(CatalogCalls.restock).count == 1)
    }

    @Test func aCancelledOrderIsRefundedAfterADrop() async throws {
        let (bag, kind, order, id) = try await Self.refunded(.cancel)
        try await Self.reverse(id, bag)
        #expect(try await bag.store.write { try kind.drop(id, $0) } != nil)
        #expect(await parseCode { _ = try await bag.begin(.refund(nil), order, restock: true) } == 142)
        let next = try await bag.begin(.refund(nil), order)
        #expect(await bag.runner(RefundPayments()).outcome(of: next, within: .seconds(20)) == .done)
        #expect(try await bag.document("Order", order)?["refundedTotal"] == 700)
        #expect(await parseCode { _ = try await bag.begin(.refund(nil), order) } == 142)
    }

    /// The rest of the money is owed.
    @Test func aRetryIsLimitedToWhatIsLeft() async throws {
        let (bag, kind, order, id) = try await Self.refunded(.refund(nil))
        try await Self.reverse(id, bag)
        let small = try await bag.begin(.refund(300), order)
        #expect(await bag.runner(RefundPayments()).outcome(of: small, within: .seconds(20)) == .done)
        try await Self.retry(id, kind, bag)
        #expect(try await bag.document("Order", order)?["refundedTotal"] == 700)
    }

    @Test func goodsThatAreInStockAreNotShipped() async throws {
        let (bag, kind, order, id) = try await Self.refunded(.refund(200))
        try await Self.reverse(id, bag)
        let listed = try await bag.refunds.list(order, for: nil).arrayValue
        #expect(listed?.first?["inStock"] == true)
        #expect(await parseCode { _ = try await bag.perform(.ship(Shipment()), order) } == 142)
        try await Self.retry(id, kind, bag)
        let retried = try await bag.refunds.list(order, for: nil).arrayValue
        #expect(retried?.compactMap { $0["retryOf"] } == [.string(id)])
        #expect(await parseCode { _ = try await bag.perform(.ship(Shipment()), order) } == 142)
    }

    @Test func otherPiecesOfTheOrderAreShipped() async throws {
        let (bag, order) = try await BagStore.paid()
        let item = try #require(try await bag.document("Order", order)?["items"]?.arrayValue?.first)
        let id = try await bag.begin([item["objectId"]?.stringValue ?? "": 1], order, restock: true)
        #expect(await bag.runner(RefundPayments()).outcome(of: id, within: .seconds(20)) == .done)
        try await Self.reverse(id, bag)
        try await Self.retry(id, ParkedRefunds(orders: bag.orders) { _ in }.kind, bag)
        _ = try await bag.perform(.ship(Shipment()), order)
        #expect(try await bag.document("Order", order)?["orderState"] == "shipped")
    }

    /// The operator drops the reversed refund, and refunds the same pieces by hand.
    @Test func piecesThatAreRefundedAgainByHandCountOnce() async throws {
        let bag = try await BagStore()
        let (order, item) = try await bag.bag(of: "u1", quantity: 3)
        try await CheckoutLedgerTests.make(try await bag.start(by: "u1"), in: bag)
        func refund(_ pieces: Int, restock: Bool) async throws -> String {
            let id = try await bag.begin([item: pieces], order, restock: restock)
            #expect(await bag.runner(RefundPayments()).outcome(of: id, within: .seconds(20)) == .done)
            return id
        }
        let first = try await refund(2, restock: true)
        try await Self.reverse(first, bag)
        let kind = ParkedRefunds(orders: bag.orders) { _ in }.kind
        #expect(try await bag.store.write { try kind.drop(first, $0) } != nil)
        for pieces in 1...3 {
            #expect(await parseCode { _ = try await bag.begin([item: pieces], order, restock: true) } == 142)
        }
        _ = try await refund(2, restock: false)
        func returned() throws -> [UInt32] {
            try bag.events.all(CatalogCalls.restock).flatMap { $0.lines.map(\.quantity) }
        }
        #expect(try returned() == [2])
        _ = try await bag.perform(.ship(Shipment()), order)
        // The customer sends the last piece back.
        _ = try await refund(1, restock: true)
        #expect(try returned() == [2, 1])
    }

    /// Each is a debt of its own.
    @Test func aRefundByHandReplacesOneOfThem() async throws {
        let (bag, kind, order, first) = try await Self.refunded(.refund(100))
        var ids = [first]
        for _ in 0..<2 {
            ids.append(try await bag.begin(.refund(100), order))
            #expect(await bag.runner(RefundPayments()).outcome(of: ids.last ?? "", within: .seconds(20)) == .done)
        }
        for id in ids { try await Self.reverse(id, bag) }
        let byHand = try await bag.begin(.refund(100), order)
        #expect(await bag.runner(RefundPayments()).outcome(of: byHand, within: .seconds(20)) == .done)
        let left = try await bag.store.read { try kind.list(10, $0) }.map(\.id)
        #expect(left.count == 2 && Set(left).isSubset(of: ids))
        let retried = try #require(left.first)
        try await Self.retry(retried, kind, bag)
        let last = try await bag.store.read { try kind.list(10, $0) }.map(\.id)
        #expect(last == left.filter { $0 != retried })
    }

    @Test func aRefundThatBeganBeforeTheReversalReplacesNothing() async throws {
        let (bag, kind, order, id) = try await Self.refunded(.refund(200))
        let second = try await bag.begin(.refund(200), order)
        _ = try await bag.store.write {
            try $0.execute("UPDATE refunds SET createdAt = createdAt - 1000 WHERE id = ?", [.text(second)])
        }
        try await Self.reverse(id, bag)
        #expect(await bag.runner(RefundPayments()).outcome(of: second, within: .seconds(20)) == .done)
        let parked = try await bag.store.read { try kind.list(10, $0) }.map(\.id)
        #expect(parked == [id])
    }

    /// The operator refunded the charge of an imported order at the provider, after a refund of it was reversed.
    @Test func anImportedOrderThatIsMarkedAsRefundedIsNotRefunded() async throws {
        let bag = try await BagStore()
        let order = try await bag.store.write { transaction in
            let fields: JSON = [
                "orderStatus": 1, "orderState": "cancelled", "paymentStatus": "refunded", "refundState": "failed",
                "total": 700, "stripePaymentId": "ch_1",
            ]
            let order = try transaction.create("Order", fields, caller: .master).objectId
            _ = try transaction.execute(
                """
                INSERT INTO refunds(id, orderId, checkoutId, purpose, amount, reason, restock, state, createdAt,
                changedAt, providerId, charged)
                VALUES ('rf_1', ?, 'op_1', 'cancel', 700, '', 1, 'failed', 0, 0, 're_1', 700)
                """, [.text(order)])
            return order
        }
        #expect(await parseCode { _ = try await bag.begin(.refund(nil), order) } == 142)
    }

    /// Both are in one transaction, so in the same millisecond.
    @Test func twoReversalsCountTwiceAndLeaveTheSumOfTheOthers() async throws {
        let (bag, _, order, first) = try await Self.refunded(.refund(200))
        var ids = [first]
        for _ in 0..<2 {
            ids.append(try await bag.begin(.refund(100), order))
            #expect(await bag.runner(RefundPayments()).outcome(of: ids.last ?? "", within: .seconds(20)) == .done)
        }
        let (refunds, reversed) = (bag.refunds, ids.suffix(2))
        try await bag.store.write { transaction in
            // An operator corrected it wrongly.
            _ = try transaction.update("Order", order, ["refundedTotal": 100], caller: .master)
            for id in reversed { try refunds.reverse(id, "The card has expired.", in: transaction) }
        }
        let times = try bag.events.all(NotificationCalls(to: "analytics").orderChanged).suffix(2).map(\.changedAt)
        #expect(Set(times).count == 2)
        let document = try #require(await bag.document("Order", order))
        #expect(document["refundedTotal"] == 200)
        #expect(document["paymentStatus"] == "partiallyRefunded")
        let doneAt = try await bag.store.read { reader in
            try reader.rows("SELECT changedAt FROM refunds WHERE state = 'done'", []).first?.int("changedAt")
        }
        #expect(document["refundedAt"]?["iso"]?.stringValue == doneAt.map { Timestamp(milliseconds: $0).iso })
        try await Self.expectSameChanges(bag)
    }

    @Test func aPendingOneIsDecidedFirst() async throws {
        let (bag, order) = try await BagStore.paid()
        let id = try await bag.begin(.refund(200), order)
        #expect(await parseCode { try await Self.reverse(id, bag) } == 2)
        try await Self.reverse("rf_unknown", bag)
    }
}
