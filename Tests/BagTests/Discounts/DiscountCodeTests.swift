import BagService
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import TestSupport
import Testing

/// Codes in a checkout: their discounts, and their limits.
@Suite struct DiscountCodeTests {
    private static func bag(_ definition: JSON) async throws -> BagStore {
        let bag = try await BagStore()
        try await define(definition, in: bag)
        return bag
    }

    private static func define(_ definition: JSON, in bag: BagStore) async throws {
        var whole: JSON = ["discountCode": "BF20"]
        for (name, value) in definition.objectValue ?? [:] { whole[name] = value }
        let code = try DiscountCode(whole)
        _ = try await bag.store.write { try DiscountCodes.add(code, in: $0) }
    }

    private static func uses(_ bag: BagStore) async throws -> JSON? {
        try await bag.store.read { try DiscountCodes.list(.one("BF20"), in: $0).first?["uses"] }
    }

    /// The name of the problem in the error that `work` throws.
    private static func problem(_ work: () async throws -> Void) async -> String? {
        do {
            try await work()
            return nil
        } catch {
            return (error as? ParseError)?.details?["code"]?.stringValue ?? "\(error)"
        }
    }

    private static func make(
        _ id: String, in bag: BagStore, _ steps: CheckoutLedgerTests.Catalog = .init()
    ) async throws -> JSON {
        let outcome = await CheckoutLedgerTests.runner(bag, steps).outcome(of: id, within: .seconds(20))
        return try JSON(parsing: try #require(outcome).get())
    }

    // MARK: Money

    @Test func theDiscountIsInReceiptOrderLineMailAndSale() async throws {
        let bag = try await Self.bag(["percent": 20])
        let (order, item) = try await bag.bag(of: "u1")
        let id = try await bag.start(["discountCode": "bf20", "amount": 560], by: "u1")
        let receipt = try await Self.make(id, in: bag)
        #expect(receipt["subtotalMinorUnits"] == 700)
        #expect(receipt["discountMinorUnits"] == 140)
        #expect(receipt["totalMinorUnits"] == 560)
        #expect(receipt["discountCode"] == "BF20")
        #expect(receipt.at("items", 0, "lineTotalMinorUnits") == 700)
        let made = try #require(await bag.document("Order", order))
        #expect(made["total"] == 560)
        #expect(made["discountCode"] == "BF20")
        #expect(made["discountMinorUnits"] == 140)
        #expect(try await bag.document("OrderItem", item)?["discountMinorUnits"] == 140)
        let mail = try #require(try bag.events.all(MailCalls.send).first).values()
        #expect(mail["discountMinorUnits"] == 140)
        #expect(mail["totalMinorUnits"] == 560)
        let sales = try bag.events.all(NotificationCalls(to: "analytics").orderMade)
        #expect(sales.map(\.totalMinorUnits) == [560])
        #expect(try await Self.uses(bag) == 1)
    }

    @Test func withoutACodeNothingChanges() async throws {
        let bag = try await Self.bag(["percent": 20])
        let (order, item) = try await bag.bag(of: "u1")
        let receipt = try await Self.make(try await bag.start(by: "u1"), in: bag)
        #expect(receipt["totalMinorUnits"] == 700)
        #expect(receipt["discountMinorUnits"] == 0)
        #expect(receipt["discountCode"] == nil)
        #expect(try await bag.document("Order", order)?["discountMinorUnits"] == nil)
        #expect(try await bag.document("OrderItem", item)?["discountMinorUnits"] == nil)
    }

    /// 950 for three pieces are 316, 317 and 317.
    @Test func refundedPiecesReturnWhatWasPaidForThem() async throws {
        let bag = try await Self.bag(["amountMinorUnits": 100])
        let (order, item) = try await bag.bag(of: "u1", quantity: 3)
        _ = try await Self.make(try await bag.start(["discountCode": "BF20"], by: "u1"), in: bag)
        let payments = RefundPayments()
        for (pieces, amount) in [(1, 316), (2, 634)] as [(Int, JSON)] {
            var request = OrderLedger.StepRequest(.refund(nil), by: nil)
            request.lines = RefundLines([item: pieces])
            guard case .waits(let id) = try await bag.orders.perform(request, order, contact: nil, for: nil) else {
                throw ParseError.internalError
            }
            #expect(await bag.runner(payments).outcome(of: id, within: .seconds(20)) == .done)
            #expect(try await bag.orders.answer(order, refund: id, for: nil)["refundedNow"] == amount)
        }
        #expect(payments.total == 950)
        #expect(try await bag.document("Order", order)?["paymentStatus"] == "refunded")
        // A refund does not give the use back.
        #expect(try await Self.uses(bag) == 1)
    }

    @Test func anOrderWithoutARestNeedsNoPayment() async throws {
        let bag = try await Self.bag(["percent": 100])
        _ = try await bag.bag(of: "u1")
        let steps = CheckoutLedgerTests.Catalog()
        let id = try await bag.start(["discountCode": "BF20", "tokenId": .null], by: "u1")
        let receipt = try await Self.make(id, in: bag, steps)
        #expect(receipt["totalMinorUnits"] == 0)
        #expect(receipt["discountMinorUnits"] == 700)
        #expect(steps.seen.withLock { $0.charges } == [:])
    }

    @Test func aCheckoutKeepsTheTermsWithWhichItBegan() async throws {
        let bag = try await Self.bag(["percent": 20])
        _ = try await bag.bag(of: "u1")
        let id = try await bag.start(["discountCode": "BF20"], by: "u1")
        _ = try await bag.store.write { try $0.execute("DELETE FROM discountCodes") }
        #expect(try await Self.make(id, in: bag)["totalMinorUnits"] == 560)
    }

    // MARK: Refusals

    static let refused: [(JSON, String)] = [
        (["percent": 20, "active": false], "discount_inactive"),
        (["percent": 20, "from": "2999-01-01"], "discount_not_yet_valid"),
        (["percent": 20, "until": "2001-01-01"], "discount_expired"),
        (["percent": 20, "minimumMinorUnits": 701], "discount_minimum_not_reached"),
        (["percent": 20, "productId": "comb"], "discount_not_applicable"),
        (["percent": 20, "brandId": "brand1"], "discount_not_applicable"),
        (["discountCode": "OTHER", "percent": 20], "discount_unknown"),
    ]

    @Test(arguments: refused) func aCodeThatCannotBeUsedIsRefused(definition: JSON, problem: String) async throws {
        let bag = try await Self.bag(definition)
        let (order, _) = try await bag.bag(of: "u1")
        #expect(await Self.problem { _ = try await bag.start(["discountCode": "BF20"], by: "u1") } == problem)
        // The full price is not charged for a bag with such a code either.
        _ = try await bag.store.write { try $0.update("Order", order, ["discountCode": "BF20"], caller: .master) }
        #expect(await Self.problem { _ = try await bag.start(by: "u1") } == problem)
        #expect(try await bag.store.read { try $0.rows("SELECT id FROM checkouts") }.isEmpty)
    }

    @Test func onlyTheFunctionSetsTheCodeOfABag() async throws {
        let bag = try await Self.bag(["percent": 20])
        let (order, _) = try await bag.bag(of: "u1")
        for field in ["discountCode": "BF20", "discountMinorUnits": 700] as [String: JSON] {
            let change: JSON = [field.key: field.value]
            #expect(await parseCode { try await bag.save(.update, "Order", order, change, by: "u1") } == 119)
        }
    }

    @Test func aCodeExistsOnce() async throws {
        let bag = try await Self.bag(["percent": 20])
        let code = await parseCode { try await Self.define(["discountCode": "bf20", "percent": 5], in: bag) }
        #expect(code == 137)
    }

    /// The stored outcome would be that of the other price.
    @Test func aKeyIsForOneCodeOnly() async throws {
        let bag = try await Self.bag(["percent": 20])
        let (order, _) = try await bag.bag(of: "u1")
        _ = try await bag.start(by: "u1", keys: ["client:a"])
        func again(_ parameters: JSON = [:]) async -> Int? {
            await parseCode { _ = try await bag.start(parameters, by: "u1", keys: ["client:a"]) }
        }
        #expect(await again() == nil)
        #expect(await again(["discountCode": "BF20"]) == 142)
        _ = try await bag.store.write { try $0.update("Order", order, ["discountCode": "BF20"], caller: .master) }
        #expect(await again() == 142)
    }

    // MARK: Limits

    /// T8d
    @Test func manyCustomersGetNoMoreUsesThanThereAre() async throws {
        let bag = try await Self.bag(["percent": 20, "usesMax": 5])
        let customers = (1...20).map { "u\($0)" }
        for customer in customers { _ = try await bag.bag(of: customer) }
        let problems = try await withThrowingTaskGroup(of: String?.self) { group in
            for customer in customers {
                group.addTask {
                    await Self.problem { _ = try await bag.start(["discountCode": "BF20"], by: customer) }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(problems.filter { $0 == nil }.count == 5)
        #expect(problems.filter { $0 == "discount_exhausted" }.count == 15, "\(problems)")
        #expect(try await Self.uses(bag) == 5)
    }

    @Test func aFailedCheckoutReleasesItsUse() async throws {
        let bag = try await Self.bag(["percent": 20, "usesMax": 1, "usesPerCustomerMax": 1])
        for customer in ["u1", "u2"] { _ = try await bag.bag(of: customer) }
        let declined = CheckoutLedgerTests.Catalog(decline: CheckoutMachineTests.declined)
        for _ in 0..<2 {
            let id = try await bag.start(["discountCode": "BF20"], by: "u1")
            let held = await Self.problem { _ = try await bag.start(["discountCode": "BF20"], by: "u2") }
            #expect(held == "discount_exhausted")
            #expect(await Self.problem { _ = try await Self.make(id, in: bag, declined) } == "card_declined")
            #expect(try await Self.uses(bag) == 0)
        }
        // A total that the client did not expect.
        let id = try await bag.start(["discountCode": "BF20", "amount": 700], by: "u1")
        #expect(await parseCode { _ = try await Self.make(id, in: bag) } == 142)
        _ = try await Self.make(try await bag.start(["discountCode": "BF20"], by: "u2"), in: bag)
        #expect(try await Self.uses(bag) == 1)
    }

    @Test func aCancelledOrderGivesItsUseBack() async throws {
        let bag = try await Self.bag(["percent": 20, "usesPerCustomerMax": 1])
        let (order, _) = try await bag.bag(of: "u1")
        _ = try await Self.make(try await bag.start(["discountCode": "BF20"], by: "u1"), in: bag)
        _ = try await bag.bag(of: "u1")
        func again() async -> String? {
            await Self.problem { _ = try await bag.start(["discountCode": "BF20"], by: "u1") }
        }
        #expect(await again() == "discount_already_used")
        let refund = try await bag.begin(.cancel, order)
        #expect(await again() == "discount_already_used")
        #expect(await bag.runner(RefundPayments()).outcome(of: refund, within: .seconds(20)) == .done)
        #expect(await again() == nil)
        #expect(try await bag.document("Order", order)?["discountCode"] == "BF20")
    }

    /// An order that cost nothing is cancelled without a refund.
    @Test func aCancelledFreeOrderGivesItsUseBack() async throws {
        let bag = try await Self.bag(["percent": 100, "usesMax": 1])
        let (order, _) = try await bag.bag(of: "u1")
        _ = try await Self.make(try await bag.start(["discountCode": "BF20"], by: "u1"), in: bag)
        _ = try await bag.perform(.cancel, order)
        #expect(try await Self.uses(bag) == 0)
    }

    @Test func theUsesOfAnAnonymousUserCountForTheAccount() async throws {
        let bag = try await Self.bag(["percent": 20, "usesPerCustomerMax": 1])
        _ = try await bag.bag(of: "anon1")
        _ = try await Self.make(try await bag.start(["discountCode": "BF20"], by: "anon1"), in: bag)
        _ = try await bag.store.write {
            try BagMerge.move(from: "anon1", to: "u1", catalog: .init(), currency: "usd", in: $0)
        }
        _ = try await bag.bag(of: "u1")
        let again = await Self.problem { _ = try await bag.start(["discountCode": "BF20"], by: "u1") }
        #expect(again == "discount_already_used")
    }
}
