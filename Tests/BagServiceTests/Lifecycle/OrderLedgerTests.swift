import BagService
import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import Synchronization
import TestSupport
import Testing

/// The rows and messages that an order's steps leave, and the proof that money goes back once from whichever point the
/// work goes on.
@Suite struct OrderLedgerTests {
    /// Payments that remember what they gave back under which id.
    final class Payments: RefundStepping {
        struct Seen {
            var refunds: [String: Int64] = [:]
            var asked = 0
            var lost = 0
        }
        let seen: Mutex<Seen>
        let refusal: ParseError?

        init(lost: Int = 0, refusal: ParseError? = nil) {
            seen = Mutex(Seen(lost: lost))
            self.refusal = refusal
        }

        func giveBack(_ refund: Refund) async -> Result<String, CheckoutMachine.StepFailure> {
            seen.withLock { seen in
                seen.asked += 1
                if refusal == nil { seen.refunds[refund.id] = refund.amount }
                if seen.lost > 0 {
                    seen.lost -= 1
                    return .failure(.undecided)
                }
                return refusal.map { .failure(.refused($0)) } ?? .success("re_\(refund.id)")
            }
        }
        var total: Int64 { seen.withLock { $0.refunds.values.reduce(0, +) } }
    }

    static func runner(_ bag: BagStore, _ payments: Payments, email: String? = nil) -> RefundRunner {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return RefundRunner(ledger: bag.refunds, steps: payments, logger: logger) { _ in
            email.map { CustomerContact(email: $0, isVerified: false) }
        }
    }

    /// A bag whose customer u1 has an order of two soaps, 7.00.
    private static func paid(_ parameters: JSON = [:]) async throws -> (BagStore, String) {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        try await CheckoutLedgerTests.make(try await bag.start(parameters, by: "u1"), in: bag)
        bag.events.forget()
        return (bag, order)
    }

    private static func take(
        _ step: OrderLifecycle.Step, _ order: String, in bag: BagStore, by userId: String? = nil, reason: String = "",
        restock: Bool = false
    ) async throws -> OrderLedger.Taken {
        try await bag.orders.take(.init(step, by: userId, reason: reason, restock: restock), order, contact: nil)
    }

    private static func begin(
        _ step: OrderLifecycle.Step, _ order: String, in bag: BagStore, reason: String = "", restock: Bool = false
    ) async throws -> String {
        guard case .waits(let id) = try await take(step, order, in: bag, reason: reason, restock: restock) else {
            throw ParseError.internalError
        }
        return id
    }

    private static func model(_ mail: SendMailRequest) throws -> JSON { try JSON(parsing: Array(mail.model)) }

    // MARK: Shipping

    @Test func aShippedOrderSaysHowAndTellsTheOthersOnce() async throws {
        let (bag, order) = try await Self.paid(["note": "Ring twice", "giftMessage": "For you"])
        let shipment = try Shipment([
            "carrier": "Post", "trackingNumber": "X1", "trackingUrl": "https://post.example/X1",
        ])
        let first = try await Self.take(.ship(shipment), order, in: bag)
        guard case .done(let answer) = first else {
            Issue.record("Nothing has to be given back.")
            return
        }
        #expect(answer["orderState"] == "shipped")
        #expect(answer["carrier"] == "Post")
        #expect(answer["shippedAt"]?.wireType == "Date")
        #expect(try await Self.take(.ship(shipment), order, in: bag) == first)
        #expect(
            bag.events.kinds.sorted() == sortedKinds(NewsCalls.orderChanged, [MailCalls.send]))
        let mail = try #require(try bag.events.all(MailCalls.send).first)
        #expect(mail.template == "order-shipped")
        #expect(mail.toAddress == "ann@shop.example")
        let model = try Self.model(mail)
        #expect(model["trackingUrl"] == "https://post.example/X1")
        #expect(model["orderNo"] == 1_000_001)
        #expect(model["note"] == "Ring twice")
        #expect(model["giftMessage"] == "For you")
        #expect(model.at("items", 0, "name") == "Soap")
        #expect(model["refundedMinorUnits"] == nil)
        let changed = try #require(try bag.events.all(NewsCalls(to: "push").orderChanged).first)
        #expect(changed.status == 2)
        #expect(changed.userID == "u1")
        #expect(changed.refundedMinorUnits == 0)
    }

    @Test func aDeliveredOrderIsTold() async throws {
        let (bag, order) = try await Self.paid()
        #expect(await parseCode { _ = try await Self.take(.deliver, order, in: bag) } == 142)
        _ = try await Self.take(.ship(Shipment()), order, in: bag)
        bag.events.forget()
        let first = try await Self.take(.deliver, order, in: bag)
        #expect(try await Self.take(.deliver, order, in: bag) == first)
        #expect(try bag.events.all(MailCalls.send).map(\.template) == ["order-delivered"])
        #expect(try await bag.document("Order", order)?["deliveredAt"]?.wireType == "Date")
    }

    // MARK: Money

    @Test func aCancelledOrderGivesMoneyAndGoodsBackOnce() async throws {
        let (bag, order) = try await Self.paid()
        let id = try await Self.begin(.cancel, order, in: bag, reason: "Changed my mind")
        #expect(try await bag.document("Order", order)?["refundState"] == "pending")
        #expect(try await bag.document("Order", order)?["orderStatus"] == 1)
        #expect(bag.events.kinds == [])
        let payments = Payments()
        let runner = Self.runner(bag, payments, email: "new@shop.example")
        #expect(await runner.progress(of: id, within: .seconds(20)) == .done)
        let cancelled = try #require(await bag.document("Order", order))
        #expect(cancelled["orderState"] == "cancelled")
        #expect(cancelled["refundedTotal"] == 700)
        #expect(cancelled["refundState"] == "done")
        #expect(cancelled["cancelReason"] == "Changed my mind")
        #expect(cancelled["cancelledAt"]?.wireType == "Date")
        #expect(cancelled["refundedAt"] == cancelled["cancelledAt"])
        #expect(
            bag.events.kinds.sorted()
                == sortedKinds(NewsCalls.orderChanged, [CatalogCalls.restock, MailCalls.send]))
        let restock = try #require(try bag.events.all(CatalogCalls.restock).first)
        #expect(restock.restockID == "order:\(order)")
        #expect(restock.lines.map(\.quantity) == [2])
        let mail = try #require(try bag.events.all(MailCalls.send).first)
        #expect(mail.template == "order-cancelled")
        #expect(mail.toAddress == "new@shop.example")
        #expect(try Self.model(mail)["refundedMinorUnits"] == 700)
        #expect(try Self.model(mail)["reason"] == "Changed my mind")
        #expect(try bag.events.all(NewsCalls(to: "analytics").orderChanged).map(\.refundedMinorUnits) == [700])
        // Asking again gets what is stored, and nothing moves.
        #expect(try await Self.take(.cancel, order, in: bag) == .done(try await bag.orders.answer(order)))
        #expect(await runner.progress(of: id, within: .seconds(20)) == .done)
        #expect(payments.total == 700)
        #expect(bag.events.kinds.count == 4)
    }

    @Test func manyCancelsOfAnOrderAreOneRefund() async throws {
        let (bag, order) = try await Self.paid()
        let payments = Payments(lost: 2)
        let runner = Self.runner(bag, payments)
        let answers = try await withThrowingTaskGroup(of: JSON.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    switch try await Self.take(.cancel, order, in: bag) {
                    case .done(let answer): return answer
                    case .waits(let id):
                        #expect(await runner.progress(of: id, within: .seconds(20)) == .done)
                        return try await bag.orders.answer(order)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(answers).count == 1)
        #expect(payments.seen.withLock { $0.refunds.count } == 1)
        #expect(payments.total == 700)
    }

    @Test func aRefundGoesOnAfterARestart() async throws {
        let (bag, order) = try await Self.paid()
        let id = try await Self.begin(.cancel, order, in: bag)
        let away = Self.runner(bag, Payments(lost: .max))
        #expect(await away.progress(of: id, within: .zero) == .pending)
        for step in [.ship(Shipment()), .refund(nil)] as [OrderLifecycle.Step] {
            #expect(await parseCode { _ = try await Self.take(step, order, in: bag) } == 142)
        }
        #expect(try await Self.take(.cancel, order, in: bag) == .waits(refundId: id))
        let other = BagStore.Events()
        let ledger = RefundLedger(store: bag.store, outbox: other, currency: .standard)
        let runner = RefundRunner(ledger: ledger, steps: Payments(lost: 1), logger: Logger(label: "test")) { _ in nil }
        try await runner.resumeUnfinished()
        #expect(await runner.progress(of: id, within: .seconds(20)) == .done)
        #expect(try await bag.document("Order", order)?["orderState"] == "cancelled")
        #expect(other.kinds.count == 4)
    }

    @Test func aRefundThatWasRefusedShowsAndCanBeTriedAgain() async throws {
        let (bag, order) = try await Self.paid()
        let refusal = ParseError(.validationError, "The charge is disputed.")
        let id = try await Self.begin(.cancel, order, in: bag)
        #expect(
            await Self.runner(bag, Payments(refusal: refusal)).progress(of: id, within: .seconds(20))
                == .refused(refusal))
        let document = try #require(await bag.document("Order", order))
        #expect(document["refundState"] == "failed")
        #expect(document["orderStatus"] == 1)
        #expect(document["refundedTotal"] == nil)
        #expect(bag.events.kinds == [])
        let second = try await Self.begin(.cancel, order, in: bag)
        #expect(second != id)
        #expect(await Self.runner(bag, Payments()).progress(of: second, within: .seconds(20)) == .done)
        #expect(try await bag.document("Order", order)?["refundState"] == "done")
    }

    @Test func partsOfAnOrderAreRefundedUpToItsTotal() async throws {
        let (bag, order) = try await Self.paid()
        let payments = Payments()
        let runner = Self.runner(bag, payments)
        _ = try await Self.take(.ship(Shipment()), order, in: bag)
        bag.events.forget()
        let first = try await Self.begin(.refund(200), order, in: bag, reason: "Broken")
        #expect(await runner.progress(of: first, within: .seconds(20)) == .done)
        #expect(!bag.events.kinds.contains(CatalogCalls.restock.kind))
        #expect(try await bag.document("Order", order)?["orderState"] == "refunded")
        // T8a: the same again is a second refund, unless it comes under the key of the first.
        var keyed = OrderLedger.Wish(.refund(100), by: nil)
        keyed.keys = ["client:k1"]
        guard case .waits(let second) = try await bag.orders.take(keyed, order, contact: nil) else {
            Issue.record("Another refund begins.")
            return
        }
        #expect(await runner.progress(of: second, within: .seconds(20)) == .done)
        #expect(try await bag.orders.take(keyed, order, contact: nil) == .waits(refundId: second))
        #expect(try await bag.orders.answer(order, refund: second)["refundedNow"] == 100)
        keyed = OrderLedger.Wish(.refund(101), by: nil)
        keyed.keys = ["client:k1"]
        let other = keyed
        #expect(await parseCode { _ = try await bag.orders.take(other, order, contact: nil) } == 142)
        #expect(await parseCode { _ = try await Self.take(.refund(401), order, in: bag) } == 142)
        let rest = try await Self.begin(.refund(nil), order, in: bag, restock: true)
        #expect(await runner.progress(of: rest, within: .seconds(20)) == .done)
        #expect(try await bag.document("Order", order)?["refundedTotal"] == 700)
        #expect(payments.total == 700)
        #expect(try bag.events.all(CatalogCalls.restock).count == 1)
        let mails = try bag.events.all(MailCalls.send).map(Self.model)
        #expect(mails.map { $0["refundedMinorUnits"] } == [200, 100, 400])
        #expect(mails.first?["reason"] == "Broken")
    }

    /// An order with so much in it already that what a refund adds would make it too large.
    @Test func whatTheStoreWouldRefuseIsRefusedBeforeMoneyGoesBack() async throws {
        let (bag, order) = try await Self.paid()
        let present = try #require(await bag.document("Order", order)).serialized.count
        let text = JSON.string(String(repeating: "x", count: 128 * 1024 - present - 120))
        _ = try await bag.store.write { try $0.update("Order", order, ["legacy": text], caller: .master) }
        #expect(await parseCode { _ = try await Self.take(.cancel, order, in: bag) } == 116)
        #expect(try await bag.document("Order", order)?["refundState"] == nil)
    }

    // MARK: Who and what

    @Test func customersReachOnlyTheirOwnOrders() async throws {
        let (bag, order) = try await Self.paid()
        #expect(await parseCode { _ = try await Self.take(.cancel, order, in: bag, by: "u2") } == 101)
        #expect(await parseCode { _ = try await Self.take(.cancel, "missing", in: bag, by: "u1") } == 101)
        guard case .waits = try await Self.take(.cancel, order, in: bag, by: "u1") else {
            Issue.record("A customer cancels their own.")
            return
        }
    }

    @Test func aBagIsNotCancelled() async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        #expect(await parseCode { _ = try await Self.take(.cancel, order, in: bag, by: "u1") } == 142)
    }

    @Test func anOrderWhoseRefundIsPendingIsNotChangedByForce() async throws {
        let (bag, order) = try await Self.paid()
        let id = try await Self.begin(.cancel, order, in: bag)
        let master = Principal.with { $0.master = true }
        #expect(await parseCode { try await bag.save(.update, "Order", order, ["orderStatus": 2], as: master) } == 142)
        #expect(await parseCode { try await bag.save(.delete, "Order", order, [:], as: master) } == 142)
        #expect(await Self.runner(bag, Payments()).progress(of: id, within: .seconds(20)) == .done)
        try await bag.save(.update, "Order", order, ["note": "x"], as: master)
    }

    @Test func anImportedOrderIsCancelledWithoutMoneyAndGoods() async throws {
        let bag = try await BagStore()
        let order: JSON = ["orderNo": 7, "orderStatus": 1, "customer": .pointer("_User", "u1")]
        let id = try await bag.save(.create, "Order", nil, order, as: .with { $0.master = true }).objectId
        guard case .done(let answer) = try await Self.take(.cancel, id, in: bag, by: "u1") else {
            Issue.record("Nothing was paid through us.")
            return
        }
        #expect(answer["orderState"] == "cancelled")
        #expect(bag.events.kinds.sorted() == sortedKinds(NewsCalls.orderChanged))
    }

    // MARK: The list

    @Test func adminsListMadeOrdersWithLinesNewestFirst() async throws {
        let (bag, first) = try await Self.paid()
        let (second, _) = try await bag.bag(of: "u2")
        try await CheckoutLedgerTests.make(try await bag.start(by: "u2"), in: bag)
        _ = try await bag.bag(of: "u3")
        _ = try await Self.take(.ship(Shipment()), first, in: bag)
        func list(_ parameters: JSON) async throws -> (orders: [JSON], count: Int) {
            let list = try OrderList(parameters)
            return try await bag.store.read { try list.read(in: $0) }
        }
        let all = try await list([:])
        #expect(all.orders.map(\.objectId) == [second, first])
        #expect(all.count == 2)
        #expect(all.orders[1].at("items", 0, "name") == "Soap")
        #expect(try await list(["status": 2]).orders.map(\.objectId) == [first])
        #expect(try await list(["limit": 1, "skip": 1]).orders.map(\.objectId) == [first])
        #expect(try await list(["to": "2020-01-01T00:00:00.000Z"]).count == 0)
        #expect(try await list(["from": "2020-01-01T00:00:00.000Z"]).count == 2)
        let shown = OrderList.json(all.orders, contacts: ["u2": ["email": "b@shop.example"]], count: 2)
        #expect(shown.at("results", 0, "contact", "email") == "b@shop.example")
        #expect(shown.at("results", 1, "contact") == .null)
    }

    @Test(
        arguments: [
            ["status": 0], ["status": 7], ["status": "lost"], ["status": "open"], ["from": "yesterday"], ["to": 5],
            ["limit": 0],
            ["skip": -1],
            ["skip": 1.5],
        ] as [JSON])
    func badListParametersAreRefused(parameters: JSON) {
        #expect(throws: ParseError.self) { try OrderList(parameters) }
    }

    // MARK: orderStatus

    /// Apps ask for `orderStatus = 1` to show a history.
    @Test(arguments: [OrderLifecycle.Step.ship(Shipment()), .cancel, .refund(100)])
    func anOrderStaysInAHistoryThatAsksForOrdersMade(_ step: OrderLifecycle.Step) async throws {
        let (bag, order) = try await Self.paid()
        #expect(try await bag.document("Order", order)?["orderState"] == "made")
        if case .waits(let id) = try await Self.take(step, order, in: bag) {
            #expect(await Self.runner(bag, Payments()).progress(of: id, within: .seconds(20)) == .done)
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
        // Before it is done, both forms are read.
        #expect(await parseCode { _ = try await Self.take(.ship(Shipment()), ids[3], in: bag) } == 142)
        #expect(try await bag.orders.answer(ids[1])["orderStatus"] == 2)
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
        // A tool that saves what it read does not make a shipped order unshipped.
        let again = try await bag.save(.update, "Order", old.objectId, ["orderStatus": 1], as: master)
        #expect(again.after?["orderState"] == "shipped")
        let lost: JSON = ["orderNo": 9, "orderStatus": 1, "orderState": "lost"]
        #expect(await parseCode { try await bag.save(.create, "Order", nil, lost, as: master) } == 142)
        #expect(
            await parseCode { try await bag.save(.create, "Order", nil, ["orderState": "shipped"], by: "u1") } == 119)
    }

    @Test func adminsListOrdersByStateOrItsOldNumber() async throws {
        let (bag, shipped) = try await Self.paid()
        _ = try await Self.take(.ship(Shipment()), shipped, in: bag)
        let imported: JSON = ["orderNo": 7, "orderStatus": 1]
        let made = try await bag.save(.create, "Order", nil, imported, as: .with { $0.master = true }).objectId
        for (status, expected) in [("shipped", shipped), (2, shipped), ("made", made), (1, made)] as [(JSON, String)] {
            let list = try OrderList(["status": status])
            let found = try await bag.store.read { try list.read(in: $0) }
            #expect(found.orders.map(\.objectId) == [expected], "\(status)")
            #expect(found.count == 1, "\(status)")
        }
    }
}
