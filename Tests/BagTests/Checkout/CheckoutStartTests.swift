import BagService
import ParseProtocol
import ServiceSupport
import Testing

/// Refusals of a checkout before any charge, order numbers, and the meaning of a key.
@Suite struct CheckoutStartTests {
    private static func make(_ id: String, in bag: BagStore) async throws {
        try await CheckoutLedgerTests.make(id, in: bag)
    }

    private static func imported(_ orderNo: JSON, in bag: BagStore) async throws {
        let order: JSON = ["orderNo": orderNo, "orderStatus": 3, "customer": .pointer("_User", "u9")]
        try await bag.save(.create, "Order", nil, order, as: .with { $0.master = true })
    }

    // MARK: Charged but never made

    @Test(
        arguments: [
            ["note": "a\u{0}b"], ["giftMessage": "\u{0}"], ["shippingAddress": ["city": "a\u{0}b"]],
            ["tokenId": "a\u{0}"],
        ] as [JSON])
    func textsThatCannotBeStoredAreRefused(_ parameters: JSON) async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        #expect(await parseCode { _ = try await bag.start(parameters, by: "u1") } == 142)
        if parameters["tokenId"] == nil {
            #expect(await parseCode { try await bag.save(.update, "Order", order, parameters, by: "u1") } == 142)
        }
    }

    /// An order that is almost at the size limit, so that number, date and address would exceed it.
    @Test func whatTheStoreWouldRefuseIsRefusedBeforeTheCharge() async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        func fill(_ bytes: Int) async throws {
            let text = JSON.string(String(repeating: "x", count: bytes))
            _ = try await bag.store.write { try $0.update("Order", order, ["legacy": text], caller: .master) }
        }
        let present = try #require(await bag.document("Order", order)).serialized.count
        try await fill(128 * 1024 - present - 100)
        #expect(await parseCode { _ = try await bag.start(by: "u1", keys: ["client:a"]) } == 116)
        try await fill(1)
        #expect(try await bag.document("Order", order)?["orderStatus"] == 0)
        try await Self.make(try await bag.start(by: "u1", keys: ["client:a"]), in: bag)
        // The size check used up no number.
        #expect(try await bag.document("Order", order)?["orderNo"] == 1_000_001)
    }

    /// A line that is almost at the size limit, so that the longest escaped name and the highest price would exceed it.
    @Test func aLineThatCouldNotTakeItsNameIsRefusedBeforeTheCharge() async throws {
        let bag = try await BagStore()
        let (_, item) = try await bag.bag(of: "u1")
        let present = try #require(await bag.document("OrderItem", item)).serialized.count
        func fill(leaving bytes: Int) async throws {
            let text = JSON.string(String(repeating: "x", count: 128 * 1024 - present - bytes))
            _ = try await bag.store.write { try $0.update("OrderItem", item, ["legacy": text], caller: .master) }
        }
        try await fill(leaving: 1500)
        #expect(await parseCode { _ = try await bag.start(by: "u1") } == 116)
        try await fill(leaving: 3500)
        let steps = CheckoutLedgerTests.Catalog(name: String(repeating: "\u{1}", count: 500))
        let id = try await bag.start(by: "u1")
        let outcome = await CheckoutLedgerTests.runner(bag, steps).outcome(of: id, within: .seconds(20))
        _ = try #require(outcome).get()
    }

    /// With an operator's unique index, only the write itself shows that a value is taken.
    @Test func whatIsTakenIsRefusedBeforeTheCharge() async throws {
        let bag = try await BagStore()
        _ = try await bag.store.write {
            try $0.changeClass("Order", ["indexes": ["note_1": ["note": 1, "_unique": true]]], keeping: [])
        }
        for customer in ["u1", "u2"] { _ = try await bag.bag(of: customer) }
        try await Self.make(try await bag.start(["note": "Ring twice."], by: "u1"), in: bag)
        #expect(await parseCode { _ = try await bag.start(["note": "Ring twice."], by: "u2") } == 137)
        try await Self.make(try await bag.start(["note": "Ring once."], by: "u2"), in: bag)
    }

    // MARK: Numbers

    @Test func importedNumbersRaiseTheCounter() async throws {
        let bag = try await BagStore()
        try await Self.imported(1_000_001, in: bag)
        try await Self.imported(2_000_000, in: bag)
        try await Self.imported(5, in: bag)
        let (order, _) = try await bag.bag(of: "u1")
        try await Self.make(try await bag.start(by: "u1"), in: bag)
        #expect(try await bag.document("Order", order)?["orderNo"] == 2_000_001)
    }

    @Test(arguments: [9_000_000_000_000_001, -1, 1.5] as [JSON]) func impossibleNumbersAreRefused(
        _ orderNo: JSON
    ) async throws {
        let bag = try await BagStore()
        #expect(await parseCode { try await Self.imported(orderNo, in: bag) } == 142)
    }

    @Test func aNumberThatIsTakenIsSkipped() async throws {
        let bag = try await BagStore()
        // Created without the rules, like data of a foreign database.
        for orderNo in [1_000_001, 1_000_002, 1_000_010] as [JSON] {
            _ = try await bag.store.write {
                try $0.create("Order", ["orderNo": orderNo, "orderStatus": 3], caller: .master)
            }
        }
        let (order, _) = try await bag.bag(of: "u1")
        try await Self.make(try await bag.start(by: "u1"), in: bag)
        #expect(try await bag.document("Order", order)?["orderNo"] == 1_000_011)
    }

    /// Beyond the largest number of an import, the service cannot determine a free number.
    @Test func anOrderThatCannotBeNumberedIsNotCharged() async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1")
        try await Self.imported(9_000_000_000_000_000, in: bag)
        _ = try await bag.store.write {
            try $0.create("Order", ["orderNo": 9_000_000_000_000_001, "orderStatus": 3], caller: .master)
        }
        #expect(await parseCode { _ = try await bag.start(by: "u1") } == 137)
        _ = try await bag.store.write { try $0.execute("DELETE FROM counters WHERE name = 'orderNo'") }
        #expect(await parseCode { _ = try await bag.start(by: "u1") } == 1)
    }

    // MARK: Payable orders

    @Test func aProductThatTheCustomerIsNotOfferedIsNotReserved() async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1", product: "secret")
        #expect(await parseCode { _ = try await bag.start(by: "u1") } == 142)
        _ = try await bag.start(by: "u1", prices: ["secret": 1])
    }

    @Test(arguments: [-1, -2] as [JSON]) func anOrderThatWasCancelledIsNotAnsweredAsPaid(_ status: JSON) async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1", keys: ["client:a"])
        try await Self.make(id, in: bag)
        #expect(try await bag.start(["orderId": .string(order)], by: "u1") == id)
        try await bag.save(.update, "Order", order, ["orderStatus": status], as: .with { $0.master = true })
        #expect(await parseCode { _ = try await bag.start(["orderId": .string(order)], by: "u1") } == 142)
        #expect(try await bag.start(by: "u1", keys: ["client:a"]) == id)
    }

    // MARK: Keys

    @Test func aKeyOfAnotherOrderIsRefused() async throws {
        let bag = try await BagStore()
        let (first, _) = try await bag.bag(of: "u1")
        try await Self.make(try await bag.start(by: "u1", keys: ["client:a"]), in: bag)
        let (second, _) = try await bag.bag(of: "u1")
        #expect(
            await parseCode { _ = try await bag.start(["orderId": .string(second)], by: "u1", keys: ["client:a"]) }
                == 142)
        _ = try await bag.start(["orderId": .string(first)], by: "u1", keys: ["client:a"])
    }

    @Test func keysOfRequestsDoNotPileUp() async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        try await Self.make(try await bag.start(by: "u1", keys: ["request:1", "client:a"]), in: bag)
        for request in 2...9 {
            _ = try await bag.start(["orderId": .string(order)], by: "u1", keys: ["request:\(request)"])
        }
        #expect(try await Self.keys(bag) == ["client:a", "request:1"])
        try await Self.age("request:1", in: bag)
        _ = try await bag.bag(of: "u1")
        _ = try await bag.start(by: "u1", keys: ["request:10"])
        #expect(try await !bag.store.write { try CheckoutLedger.forgetRequestKeys(in: $0) })
        #expect(try await Self.keys(bag) == ["client:a", "request:10"])
    }

    /// A transaction removes a limited number of keys, however many there are.
    @Test func oldKeysOfRequestsAreRemovedInParts() async throws {
        let bag = try await BagStore()
        let most = CheckoutLedger.requestKeysForgottenMax
        _ = try await bag.bag(of: "u1")
        let id = try await bag.start(by: "u1", keys: ["client:a"] + (0...most).map { "request:\($0)" })
        for number in 0...most { try await Self.age("request:\(number)", in: bag) }
        #expect(try await bag.store.write { try CheckoutLedger.forgetRequestKeys(in: $0) })
        #expect(try await Self.keys(bag).count == 2)
        #expect(try await !bag.store.write { try CheckoutLedger.forgetRequestKeys(in: $0) })
        #expect(try await Self.keys(bag) == ["client:a"])
        #expect(try await bag.start(by: "u1", keys: ["client:a"]) == id)
    }

    /// The search for old keys must not scan the keys of the last day, which are many in a busy shop.
    @Test(.enabled(if: testsRunOnSQLite)) func oldKeysOfRequestsAreFoundByTheirAge() async throws {
        let bag = try await BagStore()
        let plan = try await bag.store.read {
            try $0.rows(
                """
                EXPLAIN QUERY PLAN SELECT customerId, key FROM checkoutKeys WHERE requestedAt < ? ORDER BY requestedAt
                """, [.int(0)]
            ).map { try $0.text("detail") }
        }
        #expect(plan.count == 1 && plan.allSatisfy { $0.contains("checkoutKeysOfRequests (requestedAt<?)") }, "\(plan)")
    }

    /// SQLite uses an index only for the exact text of its condition.
    @Test(.enabled(if: testsRunOnSQLite), arguments: ["orderId", "customerId"])
    func runningCheckoutsAreFoundByAnIndex(column: String) async throws {
        let bag = try await BagStore()
        let plan = try await bag.store.read {
            try $0.rows(
                "EXPLAIN QUERY PLAN SELECT id FROM checkouts WHERE \(column) = ? AND \(CheckoutState.runningCondition)",
                [.text("")]
            ).map { try $0.text("detail") }
        }
        #expect(plan.count == 1 && plan.allSatisfy { $0.contains("checkoutsOpen") }, "\(plan)")
    }

    private static func age(_ key: String, in bag: BagStore) async throws {
        _ = try await bag.store.write {
            try $0.execute("UPDATE checkoutKeys SET requestedAt = 0 WHERE key = ?", [.text(key)])
        }
    }

    private static func keys(_ bag: BagStore) async throws -> [String] {
        try await bag.store.read {
            try $0.rows("SELECT key FROM checkoutKeys ORDER BY key", []).map { try $0.text("key") }
        }
    }
}
