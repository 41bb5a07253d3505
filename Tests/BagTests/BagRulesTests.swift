import BagService
import ParseProtocol
import ServiceSupport
import Testing

/// Orders and lines that apps save themselves have the same effects as the functions: one bag, and a total computed by
/// the server.
@Suite struct BagRulesTests {
    @Test func aSavedBagHasItsCustomerStatusAndTotal() async throws {
        let bag = try await BagStore()
        let (order, item) = try await bag.bag(of: "u1")
        let document = try #require(await bag.document("Order", order))
        #expect(document["customer"] == .pointer("_User", "u1"))
        #expect(document["orderStatus"] == 0)
        #expect(document["total"] == 700)
        #expect(document["currency"] == "usd")
        #expect(document["items"] == [.pointer("OrderItem", item)])
        #expect(document["ACL"] == ["u1": ["read": true], "role:admins": ["read": true]])
    }

    @Test func theTotalFollowsEachChangeOfALine() async throws {
        let bag = try await BagStore()
        let (order, item) = try await bag.bag(of: "u1")
        let answer = try await bag.save(
            .update, "OrderItem", item, ["quantity": ["__op": "Increment", "amount": 1]], by: "u1"
        ).answer
        #expect(answer["quantity"] == 3)
        #expect(try await bag.document("Order", order)?["total"] == 1050)
        let comb = try await bag.save(.create, "OrderItem", nil, ["product": .pointer("Product", "comb")], by: "u1")
        let added = try await bag.save(
            .update, "Order", order, ["items": ["__op": "Add", "objects": [.pointer("OrderItem", comb.objectId)]]],
            by: "u1")
        #expect(added.answer["total"] == 2250)
        try await bag.save(.update, "OrderItem", item, ["quantity": 0], by: "u1")
        #expect(try await bag.document("OrderItem", item) == nil)
        #expect(try await bag.document("Order", order)?["total"] == 1200)
        try await bag.save(.delete, "OrderItem", comb.objectId, by: "u1")
        #expect(try await bag.document("Order", order) == nil)  // The empty bag is deleted.
    }

    @Test func aQuantityOfZeroInTheLastLineDeletesTheOrder() async throws {
        let bag = try await BagStore()
        let (order, item) = try await bag.bag(of: "u1")
        try await bag.save(.update, "OrderItem", item, ["quantity": 0], by: "u1")
        #expect(try await bag.document("Order", order) == nil)
    }

    @Test func pricesOfProductsThatAreNotSoldAreNotKept() async throws {
        let bag = try await BagStore()
        let prices: JSON = ["soap": 350, "madeUp": .null]
        try await bag.save(
            .create, "OrderItem", nil, ["product": .pointer("Product", "soap")], by: "u1", prices: prices)
        let known = try await bag.store.read {
            try $0.rows("SELECT productId FROM knownPrices", []).map { try $0.text("productId") }
        }
        #expect(known == ["soap"])
    }

    @Test func linesOfAnOrderThatIsBeingPaidAreFrozenWhateverItsStatus() async throws {
        let bag = try await BagStore()
        let (order, item) = try await bag.bag(of: "u1")
        _ = try await bag.start(by: "u1")
        _ = try await bag.store.write { try $0.update("Order", order, ["orderStatus": 5], caller: .master) }
        #expect(await parseCode { try await bag.save(.update, "OrderItem", item, ["quantity": 9], by: "u1") } == 142)
        #expect(await parseCode { try await bag.save(.update, "OrderItem", item, ["quantity": 0], by: "u1") } == 142)
        #expect(await parseCode { try await bag.save(.delete, "OrderItem", item, by: "u1") } == 142)
    }

    @Test func aSecondOpenOrderIsTheFirst() async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        let (again, second) = try await bag.bag(of: "u1", product: "comb", quantity: 1)
        #expect(again == order)
        let document = try #require(await bag.document("Order", order))
        #expect(document["items"]?.arrayValue?.count == 2)
        #expect(document["total"] == 1900)
        #expect(document["items"]?.arrayValue?.last == .pointer("OrderItem", second))
        let (other, _) = try await bag.bag(of: "u2")
        #expect(other != order)
    }

    @Test func foreignBagsAreNotFound() async throws {
        let bag = try await BagStore()
        let (order, item) = try await bag.bag(of: "u1")
        let mine = try await bag.bag(of: "u2")
        for work: @Sendable () async throws -> Void in [
            { try await bag.save(.update, "Order", order, ["note": "x"], by: "u2") },
            { try await bag.save(.delete, "Order", order, by: "u2") },
            { try await bag.save(.update, "OrderItem", item, ["quantity": 9], by: "u2") },
            { try await bag.save(.update, "OrderItem", item, ["quantity": 0], by: "u2") },
            { try await bag.save(.delete, "OrderItem", item, by: "u2") },
            { try await bag.save(.update, "Order", mine.order, ["items": [.pointer("OrderItem", item)]], by: "u2") },
            { try await bag.save(.create, "OrderItem", nil, ["product": .pointer("Product", "soap")], by: "") },
        ] {
            #expect(await parseCode(work) == 101)
        }
        #expect(try await bag.document("Order", order)?["total"] == 700)
        #expect(try await bag.document("OrderItem", item)?["quantity"] == 2)
    }

    static let badItems: [(JSON, Int)] = [
        (["product": .pointer("Product", "soap"), "quantity": -1], 142),
        (["product": .pointer("Product", "soap"), "quantity": 1.5], 142),
        (["product": .pointer("Product", "soap"), "quantity": 1_000_000_000], 142),
        (["product": .pointer("Product", "soap"), "unitPriceMinorUnits": 1], 119),
        (["product": .pointer("Product", "soap"), "customer": .pointer("_User", "u2")], 119),
        (["product": .pointer("Product", "soap"), "colour": "red"], 119),
        (["product": .pointer("Category", "soap")], 111),
        (["product": "soap"], 111),
        (["quantity": 1], 142),
        (["objectId": "mine", "product": .pointer("Product", "soap")], 105),
    ]

    @Test(arguments: badItems) func linesThatCannotBeAreRefused(object: JSON, code: Int) async throws {
        let bag = try await BagStore()
        #expect(await parseCode { try await bag.save(.create, "OrderItem", nil, object, by: "u1") } == code)
    }

    @Test func aBagThatIsBeingPaidIsFrozenAndAPaidOneIsHistory() async throws {
        let bag = try await BagStore()
        let (order, item) = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1")
        let changes: [@Sendable () async throws -> Void] = [
            { try await bag.save(.update, "OrderItem", item, ["quantity": 9], by: "u1") },
            { try await bag.save(.update, "OrderItem", item, ["quantity": 0], by: "u1") },
            { try await bag.save(.delete, "OrderItem", item, by: "u1") },
            { try await bag.save(.update, "Order", order, ["note": "x"], by: "u1") },
            { try await bag.save(.delete, "Order", order, by: "u1") },
        ]
        for change in changes { #expect(await parseCode(change) == 142) }
        #expect(await parseCode { _ = try await bag.bag(of: "u1", product: "comb") } == 142)
        try await CheckoutLedgerTests.make(id, in: bag)
        for change in changes { #expect(await parseCode(change) == 119) }
        #expect(try await bag.document("OrderItem", item)?["quantity"] == 2)
        #expect(try await bag.bag(of: "u1").order != order)
    }
}
