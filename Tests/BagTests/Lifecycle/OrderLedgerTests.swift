import BagService
import Messages
import ParseProtocol
import ServiceSupport
import TestSupport
import Testing

/// The rows and messages that an order's steps write, and which users may take the steps.
@Suite struct OrderLedgerTests {
    // MARK: Shipping

    @Test func aShippedOrderSaysHowAndTellsTheOthersOnce() async throws {
        let (bag, order) = try await BagStore.paid(["note": "Ring twice", "giftMessage": "For you"])
        let shipment = try Shipment([
            "carrier": "Post", "trackingNumber": "X1", "trackingUrl": "https://post.example/X1",
        ])
        let first = try await bag.perform(.ship(shipment), order)
        guard case .done(let answer) = first else {
            Issue.record("Nothing has to be refunded.")
            return
        }
        #expect(answer["orderState"] == "shipped")
        #expect(answer["carrier"] == "Post")
        #expect(answer["shippedAt"]?.wireType == "Date")
        #expect(try await bag.perform(.ship(shipment), order) == first)
        #expect(
            bag.events.kinds.sorted() == sortedKinds(NotificationCalls.orderChanged, [MailCalls.send]))
        let mail = try #require(try bag.events.all(MailCalls.send).first)
        #expect(mail.template == "order-shipped")
        #expect(mail.toAddress == "ann@shop.example")
        #expect(mail.orderNumber == 1_000_001)
        let model = try mail.values()
        #expect(model["trackingUrl"] == "https://post.example/X1")
        #expect(model["orderNo"] == 1_000_001)
        #expect(model["note"] == "Ring twice")
        #expect(model["giftMessage"] == "For you")
        #expect(model.at("items", 0, "name") == "Soap")
        #expect(model["refundedMinorUnits"] == nil)
        let changed = try #require(try bag.events.all(NotificationCalls(to: "push").orderChanged).first)
        #expect(changed.status == 2)
        #expect(changed.userID == "u1")
        #expect(changed.refundedMinorUnits == 0)
    }

    /// Analytics adds up amounts by this code.
    @Test(arguments: [("EUR", "eur"), ("", "usd")]) func anImportedOrdersCurrencyIsTold(
        _ written: String, _ told: String
    ) async throws {
        let bag = try await BagStore()
        let order = try await bag.store.write { transaction in
            try transaction.create(
                "Order", ["orderStatus": 1, "currency": .string(written)], caller: .master
            ).objectId
        }
        _ = try await bag.perform(.ship(Shipment()), order)
        let changes = try bag.events.all(NotificationCalls(to: "analytics").orderChanged)
        #expect(changes.map(\.currency) == [told])
    }

    @Test func aDeliveredOrderIsTold() async throws {
        let (bag, order) = try await BagStore.paid()
        #expect(await parseCode { _ = try await bag.perform(.deliver, order) } == 142)
        _ = try await bag.perform(.ship(Shipment()), order)
        bag.events.forget()
        let first = try await bag.perform(.deliver, order)
        #expect(try await bag.perform(.deliver, order) == first)
        #expect(try bag.events.all(MailCalls.send).map(\.template) == ["order-delivered"])
        #expect(try await bag.document("Order", order)?["deliveredAt"]?.wireType == "Date")
    }

    // MARK: Rights and states

    @Test func customersReachOnlyTheirOwnOrders() async throws {
        let (bag, order) = try await BagStore.paid()
        #expect(await parseCode { _ = try await bag.perform(.cancel, order, by: "u2") } == 101)
        #expect(await parseCode { _ = try await bag.perform(.cancel, "missing", by: "u1") } == 101)
        guard case .waits = try await bag.perform(.cancel, order, by: "u1") else {
            Issue.record("A customer cancels their own.")
            return
        }
    }

    @Test func aBagIsNotCancelled() async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        #expect(await parseCode { _ = try await bag.perform(.cancel, order, by: "u1") } == 142)
    }

    @Test func anOrderWhoseRefundIsPendingIsNotChangedByForce() async throws {
        let (bag, order) = try await BagStore.paid()
        let id = try await bag.begin(.cancel, order)
        let master = Principal.with { $0.master = true }
        #expect(await parseCode { try await bag.save(.update, "Order", order, ["orderStatus": 2], as: master) } == 142)
        #expect(await parseCode { try await bag.save(.delete, "Order", order, [:], as: master) } == 142)
        #expect(await bag.runner(RefundPayments()).outcome(of: id, within: .seconds(20)) == .done)
        try await bag.save(.update, "Order", order, ["note": "x"], as: master)
    }

    @Test func anImportedOrderIsCancelledWithoutMoneyAndGoods() async throws {
        let bag = try await BagStore()
        let order: JSON = ["orderNo": 7, "orderStatus": 1, "customer": .pointer("_User", "u1")]
        let id = try await bag.save(.create, "Order", nil, order, as: .with { $0.master = true }).objectId
        guard case .done(let answer) = try await bag.perform(.cancel, id, by: "u1") else {
            Issue.record("Nothing was paid through us.")
            return
        }
        #expect(answer["orderState"] == "cancelled")
        #expect(bag.events.kinds.sorted() == sortedKinds(NotificationCalls.orderChanged))
    }

    /// An imported order, and an order whose money the shop's own code charged.
    @Test(arguments: [["orderNo": 7, "orderStatus": 1], ["orderNo": 8, "orderStatus": 1, "total": 700]] as [JSON])
    func unpaidOrdersAreNotRefunded(_ imported: JSON) async throws {
        let bag = try await BagStore()
        var order = imported
        order["customer"] = .pointer("_User", "u1")
        order["email"] = "ann@shop.example"
        let id = try await bag.save(.create, "Order", nil, order, as: .with { $0.master = true }).objectId
        for amount in [nil, 700] as [Int64?] {
            #expect(await parseCode { _ = try await bag.perform(.refund(amount), id) } == 142)
        }
        #expect(bag.events.kinds == [])
        let kept = try #require(await bag.document("Order", id))
        #expect(kept["orderState"] != "refunded")
        for field in ["refundedAt", "refundedTotal", "refundState"] { #expect(kept[field] == nil, "\(field)") }
    }
}
