import BagService
import ObjectStore
import ParseProtocol
import ServiceSupport
import TestSupport
import Testing

/// An anonymous user's bag moves into the account's bag: nothing is lost or duplicated, and a bag that is being paid
/// does not move.
@Suite struct BagMoveTests {
    static let catalog = BagMerge.CatalogReply(
        prices: Prices(asked: ["soap", "comb", "gone"], unitPriceMinorUnits: ["soap": 350, "comb": 1200]),
        stock: ["soap": 5])

    static func move(_ bag: BagStore, _ catalog: BagMerge.CatalogReply = catalog) async throws {
        try await bag.store.write {
            try BagMerge.move(from: "anon", to: "u1", catalog: catalog, currency: "usd", in: $0)
        }
    }

    private static func open(_ userId: String, _ bag: BagStore) async throws -> JSON? {
        try await bag.store.read {
            try $0.documents(
                Query(className: "Order", where: ["customer": .pointer("_User", userId), "orderStatus": 0]),
                caller: .master
            ).first
        }
    }

    /// Quantities by product in a user's bag.
    private static func lines(_ userId: String, _ bag: BagStore) async throws -> [String: Int64] {
        let ids = try await open(userId, bag)?["items"]?.arrayValue?.compactMap { $0.pointerTarget?.objectId } ?? []
        var lines: [String: Int64] = [:]
        for id in ids {
            let line = try await bag.document("OrderItem", id)
            lines[line?["product"]?.pointerTarget?.objectId ?? "", default: 0] += line?["quantity"]?.intValue ?? 0
        }
        return lines
    }

    @Test(
        arguments: [
            (0, 3, nil, 3), (2, 3, nil, 5), (2, 3, 4, 4), (2, 3, 0, 2), (0, 3, 0, 0), (0, 3, -7, 0), (998, 5, nil, 999),
            (7, 1, 5, 7), (999, 999, 10_000, 999),
        ] as [(Int, Int, Int64?, Int)])
    func quantitiesAddUpToWhatIsInStock(present: Int, added: Int, stock: Int64?, sum: Int) {
        #expect(BagMerge.quantity(present, adding: added, stock: stock) == sum)
    }

    @Test func linesAddUpPerProduct() async throws {
        let bag = try await BagStore()
        let mine = try await bag.bag(of: "u1", quantity: 2)
        let theirs = try await bag.bag(of: "anon", quantity: 2)
        _ = try await bag.bag(of: "anon", quantity: 3)  // A second line of the same product.
        _ = try await bag.bag(of: "anon", product: "comb", quantity: 1)
        try await Self.move(bag)
        #expect(try await Self.lines("u1", bag) == ["soap": 5, "comb": 1])
        let order = try #require(try await Self.open("u1", bag))
        #expect(order.objectId == mine.order)
        #expect(order["total"] == 2950)
        for item in order["items"]?.arrayValue ?? [] {
            let line = try #require(await bag.document("OrderItem", item.objectId))
            #expect(line["customer"] == .pointer("_User", "u1"))
            #expect(line["ACL"] == ["u1": ["read": true], "role:admins": ["read": true]])
        }
        #expect(try await Self.open("anon", bag) == nil)
        #expect(try await bag.document("OrderItem", theirs.item) == nil)
        try await Self.move(bag)
        #expect(try await Self.lines("u1", bag) == ["soap": 5, "comb": 1])
    }

    @Test func anAccountWithoutABagGetsOne() async throws {
        let bag = try await BagStore()
        let theirs = try await bag.bag(of: "anon")
        try await bag.save(
            .update, "Order", theirs.order,
            ["note": "Ring twice", "giftMessage": "For you", "shippingAddress": BagStore.address], by: "anon")
        try await Self.move(bag)
        let order = try #require(try await Self.open("u1", bag))
        #expect(order["note"] == "Ring twice")
        #expect(order["giftMessage"] == "For you")
        #expect(order["shippingAddress"] == BagStore.address)
        #expect(order["total"] == 700)
    }

    @Test func theAccountsNoteIsKept() async throws {
        let bag = try await BagStore()
        let mine = try await bag.bag(of: "u1")
        let theirs = try await bag.bag(of: "anon")
        try await bag.save(.update, "Order", mine.order, ["note": "Mine", "giftMessage": ""], by: "u1")
        try await bag.save(.update, "Order", theirs.order, ["note": "Theirs", "giftMessage": "Theirs"], by: "anon")
        try await Self.move(bag)
        let order = try #require(try await Self.open("u1", bag))
        #expect(order["note"] == "Mine")
        #expect(order["giftMessage"] == "Theirs")
    }

    @Test func whatIsNotSoldAnyMoreDoesNotMove() async throws {
        let bag = try await BagStore()
        try await bag.save(
            .create, "OrderItem", nil, ["product": .pointer("Product", "gone")], by: "anon", prices: ["gone": 5])
        let item = try await bag.store.read {
            try $0.documents(Query(className: "OrderItem", where: [:] as JSON), caller: .master).first?.objectId ?? ""
        }
        try await bag.save(.create, "Order", nil, ["items": [.pointer("OrderItem", item)]], by: "anon")
        try await Self.move(bag)
        #expect(try await Self.open("u1", bag) == nil)
        #expect(try await Self.open("anon", bag) == nil)
    }

    @Test func aFullBagTakesMoreOfWhatItHas() async throws {
        let bag = try await BagStore()
        var asked: Set<String> = ["soap", "comb"], prices: [String: Int64] = ["soap": 350, "comb": 1200]
        _ = try await bag.bag(of: "u1", quantity: 1)
        let order = try #require(try await Self.open("u1", bag))
        var items = order["items"]?.arrayValue ?? []
        for index in 1..<200 {
            let product = "p\(index)"
            asked.insert(product)
            prices[product] = 1
            let line = try await bag.save(
                .create, "OrderItem", nil, ["product": .pointer("Product", product)], by: "u1", prices: [product: 1])
            items.append(.pointer("OrderItem", line.objectId))
        }
        try await bag.save(.update, "Order", order.objectId, ["items": .array(items)], by: "u1")
        _ = try await bag.bag(of: "anon", quantity: 1)
        _ = try await bag.bag(of: "anon", product: "comb", quantity: 1)
        try await Self.move(bag, .init(prices: Prices(asked: asked, unitPriceMinorUnits: prices)))
        let lines = try await Self.lines("u1", bag)
        #expect(lines.count == 200)
        #expect(lines["soap"] == 2)
        #expect(lines["comb"] == nil)
        #expect(try await Self.open("anon", bag) == nil)
    }

    @Test func theCatalogIsAskedAboutWhatCameMeanwhile() async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "anon")
        await #expect(throws: BagMerge.ProductsMissing.self) { try await Self.move(bag, .init()) }
        #expect(try await Self.lines("anon", bag) == ["soap": 2])
    }

    /// The message is repeated until the checkout has ended. By then the paid lines are no longer in a bag.
    @Test(arguments: ["anon", "u1"]) func aBagThatIsBeingPaidDoesNotMove(payer: String) async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1", product: "comb", quantity: 1)
        _ = try await bag.bag(of: "anon")
        let checkout = try await bag.start(by: payer)
        #expect(await parseCode { try await Self.move(bag) } == 2)
        #expect(try await Self.lines("anon", bag) == ["soap": 2])
        if payer == "anon" {
            try await CheckoutLedgerTests.make(checkout, in: bag)
            try await Self.move(bag)
            #expect(try await Self.lines("u1", bag) == ["comb": 1])
        }
    }

    /// The sign-in ends the anonymous user; its orders and addresses then belong to the account.
    @Test func madeOrdersAndAddressesMoveToo() async throws {
        let bag = try await BagStore()
        let (order, item) = try await bag.bag(of: "anon")
        try await CheckoutLedgerTests.make(try await bag.start(by: "anon"), in: bag)
        let theirs = try await bag.save(.create, "Address", nil, BagStore.address, by: "anon").objectId
        let mine = try await bag.save(.create, "Address", nil, BagStore.address, by: "u1").objectId
        try await bag.save(.create, "OrderItem", nil, ["product": .pointer("Product", "comb")], by: "anon")
        try await Self.move(bag)
        try await Self.move(bag)
        for (className, id) in [("Order", order), ("OrderItem", item)] {
            let document = try #require(await bag.document(className, id))
            #expect(document["customer"] == .pointer("_User", "u1"))
            #expect(document["ACL"] == ["u1": ["read": true], "role:admins": ["read": true]])
        }
        let moved = try #require(await bag.document("Address", theirs))
        #expect(moved["owner"] == .pointer("_User", "u1"))
        #expect(moved["default"] == false)
        #expect(moved["ACL"] == ["u1": ["read": true, "write": true]])
        #expect(try await bag.document("Address", mine)?["default"] == true)
        let lines = try await bag.store.read {
            try $0.count(Query(className: "OrderItem", where: [:] as JSON), caller: .master)
        }
        #expect(lines == 1)
        guard case .waits = try await bag.orders.perform(.init(.cancel, by: "u1"), order, contact: nil, for: nil) else {
            Issue.record("The account cancels it.")
            return
        }
    }

    @Test func aBagIsNotMergedWithItself() async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1")
        try await bag.store.write {
            try BagMerge.move(from: "u1", to: "u1", catalog: Self.catalog, currency: "usd", in: $0)
        }
        #expect(try await Self.lines("u1", bag) == ["soap": 2])
    }
}
