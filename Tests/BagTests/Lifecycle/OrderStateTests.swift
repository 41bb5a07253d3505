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
        if case .waits(let id) = try await bag.take(step, order) {
            #expect(await bag.runner(RefundPayments()).progress(of: id, within: .seconds(20)) == .done)
        }
        let history = Query(className: "Order", where: ["orderStatus": 1, "customer": .pointer("_User", "u1")])
        let found = try await bag.store.read { try $0.documents(history, caller: .master) }
        #expect(found.map(\.objectId) == [order])
        #expect(["shipped", "cancelled", "refunded"].contains(found.first?["orderState"]))
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
        #expect(await parseCode { _ = try await bag.take(.ship(Shipment()), ids[3]) } == 142)
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
        #expect(try await bag.save(.create, "Order", nil, new, as: master).after?["orderState"] == "refunded")
        // A tool that saves an unchanged object does not reset a shipped order.
        let again = try await bag.save(.update, "Order", old.objectId, ["orderStatus": 1], as: master)
        #expect(again.after?["orderState"] == "shipped")
        let lost: JSON = ["orderNo": 9, "orderStatus": 1, "orderState": "lost"]
        #expect(await parseCode { try await bag.save(.create, "Order", nil, lost, as: master) } == 142)
        #expect(
            await parseCode { try await bag.save(.create, "Order", nil, ["orderState": "shipped"], by: "u1") } == 119)
    }
}
