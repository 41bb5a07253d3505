import BagService
import Logging
import Messages
import ParseProtocol
import ServiceSupport
import Testing

/// Money is refunded once, from whichever point the work continues.
@Suite struct OrderRefundTests {
    @Test func aCancelledOrderGivesMoneyAndGoodsBackOnce() async throws {
        let (bag, order) = try await BagStore.paid()
        let id = try await bag.begin(.cancel, order, reason: "Changed my mind")
        #expect(try await bag.document("Order", order)?["refundState"] == "pending")
        #expect(try await bag.document("Order", order)?["orderStatus"] == 1)
        #expect(bag.events.kinds == [])
        let payments = RefundPayments()
        let runner = bag.runner(payments, email: "new@shop.example")
        #expect(await runner.outcome(of: id, within: .seconds(20)) == .done)
        let cancelled = try #require(await bag.document("Order", order))
        #expect(cancelled["orderState"] == "cancelled")
        #expect(cancelled["refundedTotal"] == 700)
        #expect(cancelled["refundState"] == "done")
        #expect(cancelled["cancelReason"] == "Changed my mind")
        #expect(cancelled["cancelledAt"]?.wireType == "Date")
        #expect(cancelled["refundedAt"] == cancelled["cancelledAt"])
        #expect(
            bag.events.kinds.sorted()
                == sortedKinds(NotificationCalls.orderChanged, [CatalogCalls.restock, MailCalls.send]))
        let restock = try #require(try bag.events.all(CatalogCalls.restock).first)
        #expect(restock.restockID == "order:\(order)")
        #expect(restock.lines.map(\.quantity) == [2])
        let mail = try #require(try bag.events.all(MailCalls.send).first)
        #expect(mail.template == "order-cancelled")
        #expect(mail.toAddress == "new@shop.example")
        #expect(try mail.values()["refundedMinorUnits"] == 700)
        #expect(try mail.values()["reason"] == "Changed my mind")
        #expect(try bag.events.all(NotificationCalls(to: "analytics").orderChanged).map(\.refundedMinorUnits) == [700])
        // A repetition returns the stored answer, and no money moves.
        #expect(try await bag.perform(.cancel, order) == .done(try await bag.orders.answer(order, for: nil)))
        #expect(await runner.outcome(of: id, within: .seconds(20)) == .done)
        #expect(payments.total == 700)
        #expect(bag.events.kinds.count == 4)
    }

    @Test func manyCancelsOfAnOrderAreOneRefund() async throws {
        let (bag, order) = try await BagStore.paid()
        let payments = RefundPayments(lost: 2)
        let runner = bag.runner(payments)
        let answers = try await withThrowingTaskGroup(of: JSON.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    switch try await bag.perform(.cancel, order) {
                    case .done(let answer): return answer
                    case .waits(let id):
                        #expect(await runner.outcome(of: id, within: .seconds(20)) == .done)
                        return try await bag.orders.answer(order, for: nil)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(answers).count == 1)
        #expect(payments.seen.withLock { $0.refunds.count } == 1)
        #expect(payments.total == 700)
    }

    /// Another process stores the outcome while this one queries payments again.
    @Test(.timeLimit(.minutes(2))) func whatWasStoredWithoutAnAnswerCounts() async throws {
        struct Late: RefundStepping {
            let other: RefundRunner
            func refund(_ refund: Refund) async -> Result<String, CheckoutMachine.StepFailure> {
                #expect(await other.outcome(of: refund.id, within: .seconds(20)) == .done)
                return .success("re_\(refund.id)")
            }
        }
        let (bag, order) = try await BagStore.paid()
        let id = try await bag.begin(.cancel, order)
        let runner = RefundRunner(
            ledger: bag.refunds, steps: Late(other: bag.runner(RefundPayments())), logger: Logger(label: "test")
        ) { _ in nil }
        #expect(await runner.outcome(of: id, within: .seconds(20)) == .done)
        #expect(try await bag.document("Order", order)?["refundedTotal"] == 700)
    }

    @Test func aRefundGoesOnAfterARestart() async throws {
        let (bag, order) = try await BagStore.paid()
        let id = try await bag.begin(.cancel, order)
        let away = bag.runner(RefundPayments(lost: .max))
        #expect(await away.outcome(of: id, within: .zero) == nil)
        for step in [.ship(Shipment()), .refund(nil)] as [OrderLifecycle.Step] {
            #expect(await parseCode { _ = try await bag.perform(step, order) } == 142)
        }
        #expect(try await bag.perform(.cancel, order) == .waits(refundId: id))
        let other = BagStore.Events()
        let ledger = RefundLedger(store: bag.store, outbox: other, currency: .standard)
        let payments = RefundPayments(lost: 1)
        let runner = RefundRunner(ledger: ledger, steps: payments, logger: Logger(label: "test")) { _ in nil }
        try await runner.resumeUnfinished()
        #expect(await runner.outcome(of: id, within: .seconds(20)) == .done)
        #expect(try await bag.document("Order", order)?["orderState"] == "cancelled")
        #expect(other.kinds.count == 4)
    }

    @Test func aRefundThatWasRefusedShowsAndCanBeTriedAgain() async throws {
        let (bag, order) = try await BagStore.paid()
        let refusal = ParseError(.validationError, "The charge is disputed.")
        let id = try await bag.begin(.cancel, order)
        #expect(
            await bag.runner(RefundPayments(refusal: refusal)).outcome(of: id, within: .seconds(20))
                == .refused(refusal))
        let document = try #require(await bag.document("Order", order))
        #expect(document["refundState"] == "failed")
        #expect(document["orderStatus"] == 1)
        #expect(document["refundedTotal"] == nil)
        #expect(bag.events.kinds == [])
        let second = try await bag.begin(.cancel, order)
        #expect(second != id)
        #expect(await bag.runner(RefundPayments()).outcome(of: second, within: .seconds(20)) == .done)
        #expect(try await bag.document("Order", order)?["refundState"] == "done")
    }

    @Test func partsOfAnOrderAreRefundedUpToItsTotal() async throws {
        let (bag, order) = try await BagStore.paid()
        let payments = RefundPayments()
        let runner = bag.runner(payments)
        _ = try await bag.perform(.ship(Shipment()), order)
        bag.events.forget()
        let first = try await bag.begin(.refund(200), order, reason: "Broken")
        #expect(await runner.outcome(of: first, within: .seconds(20)) == .done)
        #expect(!bag.events.kinds.contains(CatalogCalls.restock.kind))
        #expect(try await bag.document("Order", order)?["orderState"] == "shipped")
        // T8a: the same refund again is a second one, unless it has the key of the first.
        var keyed = OrderLedger.StepRequest(.refund(100), by: nil)
        keyed.keys = ["client:k1"]
        guard case .waits(let second) = try await bag.orders.perform(keyed, order, contact: nil, for: nil) else {
            Issue.record("Another refund begins.")
            return
        }
        #expect(await runner.outcome(of: second, within: .seconds(20)) == .done)
        #expect(try await bag.orders.perform(keyed, order, contact: nil, for: nil) == .waits(refundId: second))
        #expect(try await bag.orders.answer(order, refund: second, for: nil)["refundedNow"] == 100)
        keyed = OrderLedger.StepRequest(.refund(101), by: nil)
        keyed.keys = ["client:k1"]
        let other = keyed
        #expect(await parseCode { _ = try await bag.orders.perform(other, order, contact: nil, for: nil) } == 142)
        #expect(await parseCode { _ = try await bag.perform(.refund(401), order) } == 142)
        let rest = try await bag.begin(.refund(nil), order, restock: true)
        #expect(await runner.outcome(of: rest, within: .seconds(20)) == .done)
        #expect(try await bag.document("Order", order)?["refundedTotal"] == 700)
        #expect(try await bag.document("Order", order)?["orderState"] == "refunded")
        #expect(payments.total == 700)
        #expect(try bag.events.all(CatalogCalls.restock).count == 1)
        let mails = try bag.events.all(MailCalls.send).map { try $0.values() }
        #expect(mails.map { $0["refundedMinorUnits"] } == [200, 100, 400])
        #expect(mails.first?["reason"] == "Broken")
    }

    @Test func aRefundOfPiecesCostsTheirPriceAndReturnsThemOnce() async throws {
        let (bag, order) = try await BagStore.paid()
        let runner = bag.runner(RefundPayments())
        let document = try #require(await bag.document("Order", order))
        let item = try #require(document.at("items", 0, "objectId")?.stringValue)
        func refund(_ lines: [String: Int], _ amount: Int64? = nil) async throws -> String {
            var request = OrderLedger.StepRequest(.refund(amount), by: nil, reason: "Broken", restock: true)
            request.lines = RefundLines(lines)
            request.madeBy = "Ada Lee"
            guard case .waits(let id) = try await bag.orders.perform(request, order, contact: nil, for: nil) else {
                throw ParseError.internalError
            }
            #expect(await runner.outcome(of: id, within: .seconds(20)) == .done)
            return id
        }
        for wrong in [[item: 3], ["nothing123": 1]] {
            #expect(await parseCode { _ = try await refund(wrong) } == 142, "\(wrong)")
        }
        let first = try await refund([item: 1])
        #expect(try await bag.orders.answer(order, refund: first, for: nil)["refundedNow"] == 350)
        #expect(await parseCode { _ = try await refund([item: 2]) } == 142)
        // The shop may return less than the price. The rest of the order is another refund.
        _ = try await refund([item: 1], 100)
        _ = try await refund([:])
        #expect(try await bag.document("Order", order)?["paymentStatus"] == "refunded")
        let returned = try bag.events.all(CatalogCalls.restock)
        #expect(returned.map { $0.lines.map(\.quantity) } == [[1], [1]])
        #expect(returned.allSatisfy { $0.isPart })
        #expect(Set(returned.map(\.restockID)).count == 2)
        let listed = try #require(await bag.refunds.list(order, for: nil).arrayValue)
        #expect(listed.map { $0["amount"] } == [350, 100, 250])
        #expect(listed.map { $0.at("lines", 0, "quantity") } == [1, 1, nil])
        #expect(listed.first?.at("lines", 0, "name")?.stringValue?.isEmpty == false)
        #expect(listed.allSatisfy { $0["madeBy"] == "Ada Lee" && $0["reason"] == "Broken" && $0["state"] == "done" })
    }

    @Test(
        arguments: [
            [], [["itemId": "a"]], [["itemId": "a", "quantity": 0]], [["itemId": 7, "quantity": 1]], "all",
            [["itemId": "a", "quantity": 1], ["itemId": "a", "quantity": 1]], [["itemId": "a", "quantity": 1.5]],
        ] as [JSON])
    func linesThatNameNoPiecesAreRefused(_ lines: JSON) async {
        #expect(await parseCode { _ = try RefundLines(lines) } == 142)
    }

    @Test func aRefundsKeyIsForTheSameRefundAlone() async throws {
        let (bag, order) = try await BagStore.paid()
        func take(
            _ amount: Int64, reason: String = "Broken", restock: Bool = false
        ) async throws -> OrderLedger.Performed {
            var request = OrderLedger.StepRequest(.refund(amount), by: nil, reason: reason, restock: restock)
            request.keys = ["client:k"]
            return try await bag.orders.perform(request, order, contact: nil, for: nil)
        }
        guard case .waits(let refused) = try await take(100) else { throw ParseError.internalError }
        let refusal = ParseError(.validationError, "The charge is disputed.")
        #expect(
            await bag.runner(RefundPayments(refusal: refusal)).outcome(of: refused, within: .seconds(20))
                == .refused(refusal))
        // A refused refund does not use up its key.
        guard case .waits(let id) = try await take(200) else { throw ParseError.internalError }
        #expect(id != refused)
        #expect(await bag.runner(RefundPayments()).outcome(of: id, within: .seconds(20)) == .done)
        #expect(try await take(200) == .waits(refundId: id))
        #expect(await parseCode { _ = try await take(200, reason: "Late") } == 142)
        #expect(await parseCode { _ = try await take(200, restock: true) } == 142)
        #expect(await parseCode { _ = try await take(100) } == 142)
    }

    /// An order almost at the size limit, so that the refund's data would exceed it.
    @Test func whatTheStoreWouldRefuseIsRefusedBeforeMoneyGoesBack() async throws {
        let (bag, order) = try await BagStore.paid()
        let present = try #require(await bag.document("Order", order)).serialized.count
        let text = JSON.string(String(repeating: "x", count: 128 * 1024 - present - 120))
        _ = try await bag.store.write { try $0.update("Order", order, ["legacy": text], caller: .master) }
        #expect(await parseCode { _ = try await bag.perform(.cancel, order) } == 116)
        #expect(try await bag.document("Order", order)?["refundState"] == nil)
    }
}
