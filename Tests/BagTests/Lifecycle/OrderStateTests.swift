import BagService
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import TestSupport
import Testing

/// `orderState` in addition to `orderStatus`, which remains 1 because apps query it.
@Suite struct OrderStateTests {
    /// Apps query `orderStatus = 1` to show the order history.
    @Test(arguments: [OrderLifecycle.Step.ship(Shipment()), .cancel, .refund(100)])
    func anOrderStaysInAHistoryThatAsksForOrdersMade(_ step: OrderLifecycle.Step) async throws {
        let (bag, order) = try await BagStore.paid()
        #expect(try await bag.document("Order", order)?["orderState"] == "made")
        if case .waits(let id) = try await bag.perform(step, order) {
            #expect(await bag.runner(RefundPayments()).outcome(of: id, within: .seconds(20)) == .done)
        }
        let history = Query(className: "Order", where: ["orderStatus": 1, "customer": .pointer("_User", "u1")])
        let found = try await bag.store.read { try $0.documents(history, caller: .master) }
        #expect(found.map(\.objectId) == [order])
        let states: [JSON] = [found.first?["orderState"] ?? .null, found.first?["paymentStatus"] ?? .null]
        switch step {
        case .ship: #expect(states == ["shipped", "paid"])
        case .cancel: #expect(states == ["cancelled", "refunded"])
        default: #expect(states == ["made", "partiallyRefunded"])
        }
    }

    /// Goods and payment are independent: a partly refunded order is shipped, delivered and refunded further.
    @Test func aPartialRefundStopsNoStep() async throws {
        let (bag, order) = try await BagStore.paid()
        func refund(_ amount: Int64?) async throws {
            guard case .waits(let id) = try await bag.perform(.refund(amount), order) else {
                Issue.record("Nothing was refunded.")
                return
            }
            #expect(await bag.runner(RefundPayments()).outcome(of: id, within: .seconds(20)) == .done)
        }
        func states() async throws -> [JSON?] {
            let document = try await bag.document("Order", order)
            return ["orderState", "fulfillmentStatus", "paymentStatus"].map { document?[$0] }
        }
        #expect(try await states() == ["made", "unfulfilled", "paid"])
        try await refund(100)
        #expect(try await states() == ["made", "unfulfilled", "partiallyRefunded"])
        _ = try await bag.perform(.ship(Shipment()), order)
        #expect(try await states() == ["shipped", "shipped", "partiallyRefunded"])
        try await refund(nil)
        #expect(try await states() == ["refunded", "shipped", "refunded"])
        _ = try await bag.perform(.deliver, order)
        #expect(try await states() == ["refunded", "delivered", "refunded"])
        #expect(await parseCode { _ = try await bag.perform(.cancel, order) } == 142)
        let told = try bag.events.all(NotificationCalls(to: "push").orderChanged)
        #expect(told.map(\.partlyRefunded) == [true, false, false, false])
    }

    /// Earlier releases called an order refunded after any refund.
    @Test func partlyRefundedOrdersOfEarlierReleasesGoOn() async throws {
        let bag = try await BagStore()
        let at = Timestamp.now.wire
        let orders: [(JSON, [JSON])] = [
            (["orderState": "made"], ["made", "unfulfilled", "paid"]),
            (["orderState": "refunded", "refundedTotal": 200], ["made", "unfulfilled", "partiallyRefunded"]),
            (
                ["orderState": "refunded", "refundedTotal": 200, "shippedAt": at],
                ["shipped", "shipped", "partiallyRefunded"]
            ),
            (
                ["orderState": "refunded", "refundedTotal": 200, "shippedAt": at, "deliveredAt": at],
                ["delivered", "delivered", "partiallyRefunded"]
            ),
            (["orderState": "refunded", "refundedTotal": 700, "shippedAt": at], ["refunded", "shipped", "refunded"]),
            (["orderState": "cancelled", "refundedTotal": 700], ["cancelled", "unfulfilled", "refunded"]),
        ]
        var ids: [String] = []
        for (fields, _) in orders {
            var order = fields
            order["orderStatus"] = 1
            order["total"] = 700
            let saved = order
            ids.append(try await bag.store.write { try $0.create("Order", saved, caller: .master).objectId })
        }
        let before = try await bag.document("Order", ids[1])
        try await bag.store.write { try OrderStates.addDimensions(in: $0) }
        for (id, (_, states)) in zip(ids, orders) {
            let order = try #require(await bag.document("Order", id))
            #expect(["orderState", "fulfillmentStatus", "paymentStatus"].map { order[$0] } == states)
        }
        #expect(try await bag.document("Order", ids[1])?["updatedAt"] == before?["updatedAt"])
    }

    @Test func ordersOfEarlierReleasesAreConverted() async throws {
        let bag = try await BagStore()
        let before: [(Int64, String)] = [
            (1, "made"), (2, "shipped"), (3, "delivered"), (-1, "cancelled"), (-2, "refunded"),
        ]
        var ids: [String] = []
        for (status, _) in before {
            ids.append(
                try await bag.store.write {
                    try $0.create(
                        "Order", ["orderStatus": .int(status), "customer": .pointer("_User", "u1")], caller: .master
                    ).objectId
                })
        }
        let (open, _) = try await bag.bag(of: "u2")
        let untouched = try await bag.document("Order", ids[1])
        // Before the conversion, the service reads both forms.
        #expect(await parseCode { _ = try await bag.perform(.ship(Shipment()), ids[3]) } == 142)
        #expect(try await bag.orders.answer(ids[1], for: nil)["orderStatus"] == 2)
        try await bag.store.write { try OrderStates.convert(in: $0) }
        for (id, (_, state)) in zip(ids, before) {
            let order = try #require(await bag.document("Order", id))
            #expect(order["orderStatus"] == 1)
            #expect(order["orderState"] == .string(state))
        }
        #expect(try await bag.document("Order", ids[1])?["updatedAt"] == untouched?["updatedAt"])
        #expect(try await bag.document("Order", open)?["orderStatus"] == 0)
        #expect(try await bag.document("Order", open)?["orderState"] == nil)
    }

    @Test func aStateIsImportedInEitherForm() async throws {
        let bag = try await BagStore()
        let master = Principal.with { $0.master = true }
        let old = try await bag.save(.create, "Order", nil, ["orderNo": 7, "orderStatus": 2], as: master)
        #expect(old.after?["orderStatus"] == 1)
        #expect(old.after?["orderState"] == "shipped")
        let new: JSON = ["orderNo": 8, "orderStatus": 1, "orderState": "refunded"]
        let refunded = try await bag.save(.create, "Order", nil, new, as: master)
        #expect(refunded.after?["orderState"] == "refunded")
        #expect(refunded.after?["paymentStatus"] == "refunded")
        let partly: JSON = [
            "orderNo": 10, "orderStatus": 1, "orderState": "refunded", "total": 700, "refundedTotal": 200,
        ]
        let goesOn = try await bag.save(.create, "Order", nil, partly, as: master)
        #expect(goesOn.after?["orderState"] == "made")
        #expect(goesOn.after?["paymentStatus"] == "partiallyRefunded")
        let shipped = try await bag.save(.update, "Order", goesOn.objectId, ["orderState": "shipped"], as: master)
        #expect(shipped.after?["fulfillmentStatus"] == "shipped")
        // A tool that saves an unchanged object does not reset a shipped order.
        let again = try await bag.save(.update, "Order", old.objectId, ["orderStatus": 1], as: master)
        #expect(again.after?["orderState"] == "shipped")
        let lost: JSON = ["orderNo": 9, "orderStatus": 1, "orderState": "lost"]
        #expect(await parseCode { try await bag.save(.create, "Order", nil, lost, as: master) } == 142)
        #expect(
            await parseCode { try await bag.save(.create, "Order", nil, ["orderState": "shipped"], by: "u1") } == 119)
    }
}
