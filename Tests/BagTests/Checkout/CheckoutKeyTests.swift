import BagService
import ParseProtocol
import ServiceSupport
import Testing

/// Which checkout an idempotency key leads to: only a repetition of the same request gets the stored answer.
@Suite struct CheckoutKeyTests {
    private static let others: [JSON] = [
        ["tokenId": "tok_amex"], ["tokenId": .null, "paymentMethodId": "pm1"], ["amount": 700], ["note": "Ring twice"],
        ["giftMessage": "For you"], ["email": "other@shop.example"],
        [
            "shippingAddress": [
                "firstName": "Bob", "lastName": "Example", "phone": "1", "address1": "1 Road", "city": "Oakland",
                "state": "CA", "zipcode": "94601",
            ]
        ],
    ]

    @Test(arguments: others) func aKeyOfAnotherRequestIsRefusedBeforeAndAfterItIsDecided(_ other: JSON) async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1", keys: ["client:a"])
        #expect(await parseCode { _ = try await bag.start(other, by: "u1", keys: ["client:a"]) } == 142)
        #expect(try await bag.start(by: "u1", keys: ["client:a"]) == id)
        try await CheckoutLedgerTests.make(id, in: bag)
        #expect(await parseCode { _ = try await bag.start(other, by: "u1", keys: ["client:a"]) } == 142)
        #expect(try await bag.start(by: "u1", keys: ["client:a"]) == id)
    }

    @Test func aKeyIsNotTheBagsThatWasFilledAfterwards() async throws {
        let bag = try await BagStore()
        let (first, _) = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1", keys: ["client:a", "request:1"])
        try await CheckoutLedgerTests.make(id, in: bag)
        let (second, item) = try await bag.bag(of: "u1")
        let refusal = await parseError { _ = try await bag.start(by: "u1", keys: ["client:a", "request:2"]) }
        #expect(refusal?.code == .validationError)
        #expect(refusal?.details == ["orderId": .string(first), "orderNo": 1_000_001])
        // The gateway retries a request, and the client names the order.
        #expect(try await bag.start(by: "u1", keys: ["client:a", "request:1"]) == id)
        #expect(try await bag.start(["orderId": .string(first)], by: "u1", keys: ["client:a"]) == id)
        // An order without lines is not a bag.
        try await bag.save(.update, "Order", second, ["items": []], by: "u1")
        #expect(try await bag.start(by: "u1", keys: ["client:a"]) == id)
        try await bag.save(.update, "Order", second, ["items": [.pointer("OrderItem", item)]], by: "u1")
        #expect(try await bag.start(by: "u1", keys: ["client:b"]) != id)
    }

    @Test func aDeclineIsNotTheAnswerForABagThatWasChangedAfterwards() async throws {
        let bag = try await BagStore()
        let (_, item) = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1", keys: ["client:a"])
        let decline = ParseError(.scriptFailed, "Your card was declined.")
        let runner = CheckoutLedgerTests.runner(bag, CheckoutLedgerTests.Catalog(decline: decline))
        #expect(await runner.outcome(of: id, within: .seconds(20)) == .failure(decline))
        #expect(try await bag.start(by: "u1", keys: ["client:a"]) == id)
        try await bag.save(.update, "OrderItem", item, ["quantity": 3], by: "u1")
        #expect(await parseCode { _ = try await bag.start(by: "u1", keys: ["client:a"]) } == 142)
    }

    @Test func anAttemptThatWasRefusedDoesNotUseItsKeyUp() async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1")
        let id = try await bag.start(["amount": 1], by: "u1", keys: ["client:a"])
        let runner = CheckoutLedgerTests.runner(bag, CheckoutLedgerTests.Catalog())
        guard case .failure(let error) = await runner.outcome(of: id, within: .seconds(20)) else {
            Issue.record("The amount does not match.")
            return
        }
        #expect(error.code == .validationError)
        let second = try await bag.start(["amount": 700], by: "u1", keys: ["client:a"])
        #expect(second != id)
        try await CheckoutLedgerTests.make(second, in: bag)
        // A refused key has no effect either.
        #expect(await parseCode { _ = try await bag.start(["amount": 1], by: "u1", keys: ["client:a"]) } == 142)
        #expect(try await bag.start(["amount": 700], by: "u1", keys: ["client:a"]) == second)
    }

    @Test func aKeyOfAnEarlierReleaseIsComparedByItsBag() async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1", keys: ["client:a"])
        try await CheckoutLedgerTests.make(id, in: bag)
        _ = try await bag.store.write { try $0.execute("UPDATE checkoutKeys SET request = NULL") }
        #expect(try await bag.start(["note": "Ring twice"], by: "u1", keys: ["client:a"]) == id)
        _ = try await bag.bag(of: "u1")
        #expect(await parseCode { _ = try await bag.start(by: "u1", keys: ["client:a"]) } == 142)
    }
}
