import BagService
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import TestSupport
import Testing

/// The entries of placed orders: searches, sort orders and filters, after every change of an order.
@Suite struct OrderSearchTests {
    private static let master = Principal.with { $0.master = true }

    /// A store whose earlier orders have entries.
    private static func complete() async throws -> BagStore {
        let bag = try await BagStore()
        #expect(try await bag.store.write { try OrderEntries.addNext(in: $0) } == false)
        return bag
    }

    private static func page(_ bag: BagStore, _ parameters: JSON = [:]) async throws -> OrderList.Page {
        let list = try OrderList(parameters)
        return try await bag.store.read { try list.read(in: $0) }
    }

    /// The numbers of the orders that a list has, in its order.
    private static func numbers(_ bag: BagStore, _ parameters: JSON) async throws -> [Int64] {
        let page = try await page(bag, parameters)
        #expect(page.count == page.orders.count)
        return page.orders.compactMap { $0["orderNo"]?.intValue }
    }

    private static func found(_ bag: BagStore, _ search: String) async throws -> Int {
        try await page(bag, ["search": .string(search)]).count
    }

    private static func imported(_ number: Int64, _ more: JSON, _ bag: BagStore) async throws -> String {
        var order: JSON = ["orderNo": .int(number), "orderStatus": 1, "total": 1000]
        for (name, value) in more.objectValue ?? [:] { order[name] = value }
        return try await bag.save(.create, "Order", nil, order, as: master).objectId
    }

    private static func date(_ year: Int) -> JSON {
        ["__type": "Date", "iso": .string("\(year)-01-01T00:00:00.000Z")]
    }

    /// Three orders of three people.
    private static func shop() async throws -> BagStore {
        let bag = try await complete()
        _ = try await imported(
            41,
            [
                "email": "zoe.oz@mail.example", "trackingNumber": "1Z 999 AA1", "total": 300, "orderDate": date(2031),
                "orderState": "shipped",
                "shippingAddress": [
                    "firstName": "Zoë", "lastName": "Öztürk", "city": "Köln", "zipcode": "50667",
                    "phone": "+49 (221) 555-0100",
                ],
            ], bag)
        _ = try await imported(
            42,
            [
                "email": "ann@mail.example", "total": 100, "orderDate": date(2030), "discountCode": "BF20",
                "shippingAddress": ["firstName": "ann", "lastName": "lee", "city": "Bern"],
            ], bag)
        _ = try await imported(
            1043,
            [
                "email": "bob@other.example", "total": 200,
                "shippingAddress": ["firstName": "Bob", "lastName": "Leeds", "city": "Bern"],
            ], bag)
        return bag
    }

    @Test func ordersAreFoundByBeginningsOfWords() async throws {
        let bag = try await Self.shop()
        let searches: [(JSON, [Int64])] = [
            ("LEE", [1043, 42]), ("lee bern ann", [42]), ("ozturk", [41]), ("Öz", [41]), ("zoe.oz@mail", [41]),
            ("other", [1043]), ("1z999", [41]), ("999 aa1", [41]), ("koln", [41]), ("50667", [41]), ("49221", [41]),
            ("555-0100", [41]), ("№ 42", [42]), ("#104", [1043]), ("o", [1043, 41]), ("eeds", []), ("lee koln", []),
            ("…", [1043, 42, 41]),
        ]
        for (search, expected) in searches {
            #expect(try await Self.numbers(bag, ["search": search]) == expected, "\(search)")
        }
    }

    @Test func searchesAreFilteredSortedAndPaged() async throws {
        let bag = try await Self.shop()
        let lists: [(JSON, [Int64])] = [
            (["sort": "orderNo"], [41, 42, 1043]), (["sort": "-total"], [41, 1043, 42]),
            (["sort": "name"], [42, 1043, 41]), (["sort": "-orderDate"], [41, 42, 1043]),
            (["sort": "orderDate", "search": "mail"], [42, 41]), (["status": "shipped"], [41]),
            (["status": "made", "search": "bern", "sort": "total"], [42, 1043]),
            (["status": "shipped", "search": "bern"], []), (["discountCode": "BF20"], [42]),
            (["from": Self.date(2031)], [41]), (["to": Self.date(2031)], [42]),
            (["from": Self.date(2029), "to": Self.date(2031), "search": "ann"], [42]),
        ]
        for (parameters, expected) in lists {
            #expect(try await Self.numbers(bag, parameters) == expected, "\(parameters.serializedText)")
        }
        let page = try await Self.page(bag, ["search": "lee", "limit": 1, "skip": 1])
        #expect(page.count == 2)
        #expect(page.orders.map { $0["orderNo"] } == [42])
        for wrong in [["sort": "state"], ["sort": 1], ["search": 7], ["search": ""], ["discountCode": 1]] as [JSON] {
            #expect(await parseCode { _ = try OrderList(wrong) } == 142, "\(wrong.serializedText)")
        }
    }

    @Test func entriesFollowTheOrder() async throws {
        let bag = try await Self.complete()
        let (order, _) = try await bag.bag(of: "u1")
        #expect(try await Self.page(bag).count == 0)
        try await CheckoutLedgerTests.make(try await bag.start(by: "u1"), in: bag)
        // The app sent no address; the account has one.
        for search in ["ann example", "oakland", "ann@shop", "94601"] {
            #expect(try await Self.found(bag, search) == 1, "\(search)")
        }
        _ = try await bag.perform(.ship(try Shipment(["trackingNumber": "TT-0123"])), order)
        #expect(try await Self.found(bag, "tt0123 ann@shop") == 1)
        #expect(try await Self.page(bag, ["search": "ann", "status": "made"]).count == 0)
        #expect(try await Self.page(bag, ["search": "ann", "status": "shipped"]).count == 1)
        let refund = try await bag.begin(.refund(700), order)
        #expect(await bag.runner(RefundPayments()).outcome(of: refund, within: .seconds(20)) == .done)
        #expect(try await Self.page(bag, ["search": "ann", "status": "refunded"]).count == 1)

        try await bag.save(
            .update, "Order", order, ["shippingAddress": ["firstName": "Eve", "lastName": "Quince"]], as: Self.master)
        #expect(try await Self.found(bag, "oakland") == 0)
        #expect(try await Self.found(bag, "quince ann@shop") == 1)
        try await bag.save(.delete, "Order", order, [:], as: Self.master)
        try await Self.expectEmpty(bag)
    }

    private static func expectEmpty(_ bag: BagStore) async throws {
        for table in ["orderEntries", "orderWords"] {
            let rows = try await bag.store.read { try $0.rows("SELECT * FROM \(table)") }
            #expect(rows.isEmpty, "\(table)")
        }
    }

    @Test func aMergedOrderIsFoundUntilItsAccountIsDeleted() async throws {
        let bag = try await Self.complete()
        _ = try await bag.bag(of: "anon")
        try await CheckoutLedgerTests.make(try await bag.start(by: "anon"), in: bag)
        try await BagMoveTests.move(bag)
        #expect(try await Self.found(bag, "ann@shop oakland") == 1)
        let orderNo = try #require(try await Self.page(bag).orders.first?["orderNo"]?.intValue)
        try await bag.store.write { try AccountDeletion.forget("u1", in: $0) }
        for search in ["ann", "example", "shop", "oakland", "94601"] {
            #expect(try await Self.found(bag, search) == 0, "\(search)")
        }
        #expect(try await Self.found(bag, "\(orderNo)") == 1)
        let words = try await bag.store.read { try $0.rows("SELECT word FROM orderWords").map { try $0.text("word") } }
        #expect(words == ["\(orderNo)"])
    }

    /// Orders change while those of earlier releases get entries, on both sides of the cursor.
    @Test func ordersOfEarlierReleasesGetEntriesInPieces() async throws {
        let bag = try await BagStore()
        let count = OrderEntries.addedAtOnce * 2 + 50
        let ids = try await bag.store.write { transaction in
            try (0..<count).map { index in
                let order: JSON = [
                    "orderNo": .int(Int64(index + 1)), "orderStatus": 1, "shippingAddress": ["lastName": "Medlar"],
                ]
                return try transaction.create("Order", order, caller: .master).objectId
            }
        }.sorted()
        let before = try await Self.page(bag, ["search": "medlar"])
        #expect(before.count == 0)
        #expect(before.isIncomplete)
        // A list without a search is complete.
        let all = try await Self.page(bag, ["sort": "orderNo", "limit": 1])
        #expect(all.count == count)
        #expect(!all.isIncomplete)
        #expect(try await bag.store.write { try OrderEntries.addNext(in: $0) })
        #expect(try await Self.found(bag, "medlar") == OrderEntries.addedAtOnce)

        let address: JSON = ["shippingAddress": ["lastName": "Quince"]]
        for id in [ids[0], ids[count - 1]] { try await bag.save(.update, "Order", id, address, as: Self.master) }
        for id in [ids[1], ids[count - 2]] { try await bag.save(.delete, "Order", id, [:], as: Self.master) }
        while try await bag.store.write({ try OrderEntries.addNext(in: $0) }) {}
        #expect(try await Self.found(bag, "quince") == 2)
        let after = try await Self.page(bag, ["search": "medlar"])
        #expect(after.count == count - 4)
        #expect(!after.isIncomplete)
        #expect(try await Self.page(bag).count == count - 2)
    }
}
