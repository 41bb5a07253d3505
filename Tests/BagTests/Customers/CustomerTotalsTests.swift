import BagService
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import TestSupport
import Testing

/// The row of each customer after every change of an order, and the count of orders of earlier releases.
@Suite struct CustomerTotalsTests {
    private static let totals = CustomerTotals(currency: "usd")
    private static let master = Principal.with { $0.master = true }

    /// A store whose earlier orders are counted.
    private static func counted() async throws -> BagStore {
        let bag = try await BagStore()
        #expect(try await bag.store.write { try totals.countNext(in: $0) } == false)
        return bag
    }

    private static func answer(_ bag: BagStore, _ parameters: JSON = [:]) async throws -> JSON {
        let list = try CustomerList(parameters)
        return try await bag.store.read { try list.read(currency: "usd", in: $0) }
    }

    private static func found(_ bag: BagStore, _ parameters: JSON = [:]) async throws -> [String] {
        let answer = try await answer(bag, parameters)
        return (answer["results"]?.arrayValue ?? []).compactMap { $0["customerId"]?.stringValue }
    }

    private static func row(_ userId: String, _ bag: BagStore) async throws -> JSON? {
        try await answer(bag, ["customerId": .string(userId)])["results"]?.arrayValue?.first
    }

    /// The number of orders and the money; nil without a row.
    private static func figures(_ userId: String, _ bag: BagStore) async throws -> [Int64]? {
        guard let row = try await row(userId, bag) else { return nil }
        return [row["orders"]?.intValue ?? -1, row["spentMinorUnits"]?.intValue ?? -1]
    }

    /// A paid order of two soaps for 7.00.
    private static func pay(_ userId: String, _ bag: BagStore) async throws -> String {
        let (order, _) = try await bag.bag(of: userId)
        try await CheckoutLedgerTests.make(try await bag.start(by: userId), in: bag)
        return order
    }

    private static func order(_ number: Int64, of userId: String, _ more: JSON = [:]) -> JSON {
        var order: JSON = [
            "orderNo": .int(number), "orderStatus": 1, "total": 1000, "customer": .pointer("_User", userId),
        ]
        for (name, value) in more.objectValue ?? [:] { order[name] = value }
        return order
    }

    private static func imported(_ order: JSON, _ bag: BagStore) async throws -> String {
        try await bag.save(.create, "Order", nil, order, as: master).objectId
    }

    @Test func anOrderCountsUntilItIsRefundedOrCancelled() async throws {
        let bag = try await Self.counted()
        let first = try await Self.pay("u1", bag)
        #expect(try await Self.figures("u1", bag) == [1, 700])
        _ = try await Self.pay("u1", bag)
        #expect(try await Self.figures("u1", bag) == [2, 1400])
        let row = try #require(try await Self.row("u1", bag))
        #expect(row["name"] == "Ann Example")
        #expect(row["email"] == "ann@shop.example")
        #expect(row["lastOrderDate"]?.wireType == "Date")
        let runner = bag.runner(RefundPayments())
        let part = try await bag.begin(.refund(200), first)
        #expect(try await Self.figures("u1", bag) == [2, 1400])
        #expect(await runner.outcome(of: part, within: .seconds(20)) == .done)
        #expect(try await Self.figures("u1", bag) == [2, 1200])
        let rest = try await bag.begin(.cancel, first)
        #expect(await runner.outcome(of: rest, within: .seconds(20)) == .done)
        #expect(try await Self.figures("u1", bag) == [1, 700])
        // A bag is no order.
        _ = try await bag.bag(of: "u2")
        #expect(try await Self.figures("u2", bag) == nil)
    }

    @Test func importedOrdersAreCountedChangedReassignedAndDeleted() async throws {
        let bag = try await Self.counted()
        func date(_ text: String) -> JSON { ["__type": "Date", "iso": .string(text)] }
        let (early, late) = (date("2030-01-01T00:00:00.000Z"), date("2031-01-01T00:00:00.000Z"))
        let first = try await Self.imported(Self.order(7, of: "u1", ["refundedTotal": 100, "orderDate": early]), bag)
        let second = try await Self.imported(
            Self.order(8, of: "u1", ["currency": "eur", "total": 50, "orderDate": late]), bag)
        #expect(try await Self.figures("u1", bag) == [2, 900])
        #expect(try await Self.row("u1", bag)?["otherSpentMinorUnits"] == ["eur": 50])
        #expect(try await Self.row("u1", bag)?["lastOrderDate"] == late)

        try await bag.save(.update, "Order", first, ["refundedTotal": 300], as: Self.master)
        #expect(try await Self.figures("u1", bag) == [2, 700])
        try await bag.save(.update, "Order", second, ["customer": .pointer("_User", "u2")], as: Self.master)
        #expect(try await Self.figures("u1", bag) == [1, 700])
        #expect(try await Self.row("u1", bag)?["lastOrderDate"] == early)
        #expect(try await Self.row("u1", bag)?["otherSpentMinorUnits"] == nil)
        #expect(try await Self.figures("u2", bag) == [1, 0])
        try await bag.save(.update, "Order", second, ["orderState": "cancelled"], as: Self.master)
        #expect(try await Self.figures("u2", bag) == [0, 0])
        try await bag.save(.delete, "Order", second, [:], as: Self.master)
        #expect(try await Self.figures("u2", bag) == nil)
        guard case .done = try await bag.perform(.cancel, first) else {
            Issue.record("Nothing was paid here.")
            return
        }
        #expect(try await Self.figures("u1", bag) == [0, 0])
    }

    /// The answer of the first create was lost.
    @Test func aRepeatedImportCountsOnce() async throws {
        let bag = try await Self.counted()
        for _ in 0..<2 {
            let made = try await bag.save(
                .create, "Order", nil, Self.order(7, of: "u1"), as: Self.master, proposedId: "abcdefghij")
            #expect(made.objectId == "abcdefghij")
        }
        #expect(try await Self.figures("u1", bag) == [1, 1000])
    }

    /// Many imported orders name no address; the account has one.
    @Test func whatAnOrderLacksComesFromTheAccount() async throws {
        let bag = try await Self.counted()
        for (number, userId) in [(7, "u1"), (8, "gone")] as [(Int64, String)] {
            _ = try await Self.imported(
                Self.order(number, of: userId, ["shippingAddress": ["firstName": "Ann", "lastName": "Lee"]]), bag)
        }
        _ = try await Self.pay("u2", bag)
        let lookups = try await bag.store.read { try CustomerLookups.next(in: $0) }
        #expect(lookups == ["gone": 0, "u1": 0])
        let contacts: [String: JSON] = ["u1": ["email": "ann@mail.example", "firstName": "Other", "phone": "555"]]
        try await bag.store.write { try Self.totals.complete(lookups, from: contacts, in: $0) }
        let row = try #require(try await Self.row("u1", bag))
        #expect(["name", "email", "phone"].map { row[$0] } == ["Ann Lee", "ann@mail.example", "555"])
        #expect(try await Self.found(bag, ["search": "mail.ex"]) == ["u1"])
        #expect(try await bag.store.read { try CustomerLookups.next(in: $0) }.isEmpty)
    }

    @Test func aChangedAccountReplacesWhatItsNewestOrderSaid() async throws {
        let bag = try await Self.counted()
        let details: JSON = ["shippingAddress": ["firstName": "Ann", "lastName": "Lee", "city": "Basel"]]
        _ = try await Self.imported(Self.order(7, of: "u1", details), bag)
        try await bag.store.write {
            try CustomerTotals.accountChanged("u1", in: $0)
            try CustomerTotals.accountChanged("nobody", in: $0)
        }
        let lookups = try await bag.store.read { try CustomerLookups.next(in: $0) }
        #expect(lookups == ["u1": 1])
        // The account changes again before bag has its answer: bag asks once more.
        try await bag.store.write { try CustomerTotals.accountChanged("u1", in: $0) }
        let old: [String: JSON] = ["u1": ["email": "ann@old.example"]]
        try await bag.store.write { try Self.totals.complete(lookups, from: old, in: $0) }
        let again = try await bag.store.read { try CustomerLookups.next(in: $0) }
        #expect(again == ["u1": 2])
        let contacts: [String: JSON] = ["u1": ["email": "ann@new.example", "firstName": "Anna", "lastName": "Roth"]]
        try await bag.store.write { try Self.totals.complete(again, from: contacts, in: $0) }
        let row = try #require(try await Self.row("u1", bag))
        #expect(["name", "email", "city"].map { row[$0] } == ["Anna Roth", "ann@new.example", "Basel"])
        #expect(try await bag.store.read { try CustomerLookups.next(in: $0) }.isEmpty)
        #expect(try await Self.found(bag, ["search": "roth"]) == ["u1"])
    }

    @Test func amountsOfAnySizeAreCounted() async throws {
        let bag = try await Self.counted()
        for (number, total) in [(1, Int64.max), (2, .max), (3, .min)] as [(Int64, Int64)] {
            _ = try await Self.imported(Self.order(number, of: "u1", ["total": .int(total)]), bag)
        }
        #expect(try await Self.figures("u1", bag) == [3, .max])
    }

    @Test func aMergeMovesTotalsTagsAndNotesAndADeletionRemovesThem() async throws {
        let bag = try await Self.counted()
        _ = try await Self.pay("anon", bag)
        _ = try await Self.pay("u1", bag)
        let clerk = OrderNotes.Author(userId: "clerk", name: "Cleo")
        try await bag.store.write { transaction in
            _ = try CustomerMarks.set(["VIP", "Late"], of: "anon", in: transaction)
            _ = try CustomerMarks.set(["VIP"], of: "u1", in: transaction)
            _ = try CustomerMarks.add("Rings twice.", to: "anon", by: clerk, in: transaction)
        }
        try await BagMoveTests.move(bag)
        try await BagMoveTests.move(bag)
        #expect(try await Self.figures("anon", bag) == nil)
        #expect(try await Self.figures("u1", bag) == [2, 1400])
        #expect(try await Self.row("u1", bag)?["tags"] == ["Late", "VIP"])
        #expect(try await Self.row("u1", bag)?.at("notes", 0, "text") == "Rings twice.")

        try await bag.store.write { try AccountDeletion.forget("clerk", in: $0) }
        #expect(try await Self.row("u1", bag)?.at("notes", 0, "authorName") == nil)
        try await bag.store.write { try AccountDeletion.forget("u1", in: $0) }
        for table in ["customers", "customerWords", "customerTags", "customerNotes", "customerLookups"] {
            let rows = try await bag.store.read { try $0.rows("SELECT * FROM \(table)", []) }
            #expect(rows.isEmpty, "\(table)")
        }
        // An import of orders that the deleted account placed elsewhere.
        _ = try await Self.imported(Self.order(9, of: "u1"), bag)
        #expect(try await Self.figures("u1", bag) == nil)
    }

    /// Orders change while those of earlier releases are counted, on both sides of the cursor.
    @Test func ordersOfEarlierReleasesAreCountedInPieces() async throws {
        let bag = try await BagStore()
        let count = CustomerTotals.countedAtOnce * 2 + 50
        let ids = try await bag.store.write { transaction in
            try (0..<count).map { index in
                try transaction.create(
                    "Order", Self.order(Int64(index + 1), of: "u\(index % 3)"), caller: .master
                ).objectId
            }
        }.sorted()
        func sums() async throws -> [Int64] {
            let rows = try await Self.answer(bag)["results"]?.arrayValue ?? []
            return ["orders", "spentMinorUnits"].map { name in
                rows.reduce(0) { $0 + ($1[name]?.intValue ?? 0) }
            }
        }
        #expect(try await sums() == [0, 0])
        #expect(try await bag.store.write { try Self.totals.countNext(in: $0) })
        let counted = Int64(CustomerTotals.countedAtOnce)
        #expect(try await sums() == [counted, counted * 1000])
        #expect(try await Self.answer(bag)["counting"] == true)

        for id in [ids[0], ids[count - 1]] {
            try await bag.save(.update, "Order", id, ["refundedTotal": 30], as: Self.master)
        }
        for id in [ids[1], ids[count - 2]] { try await bag.save(.delete, "Order", id, [:], as: Self.master) }
        let moved: JSON = ["customer": .pointer("_User", "u9")]
        for id in [ids[2], ids[count - 3]] { try await bag.save(.update, "Order", id, moved, as: Self.master) }
        _ = try await Self.pay("u8", bag)
        while try await bag.store.write({ try Self.totals.countNext(in: $0) }) {}
        #expect(try await sums() == [Int64(count) - 1, Int64(count - 2) * 1000 - 60 + 700])
        #expect(try await Self.figures("u9", bag) == [2, 2000])
        #expect(try await Self.figures("u8", bag) == [1, 700])
        #expect(try await Self.answer(bag)["counting"] == false)
    }

    @Test func customersAreSearchedSortedPagedAndTagged() async throws {
        let bag = try await Self.counted()
        let people: [(String, String, String, Int64)] = [
            ("a", "Zoë Öztürk", "zoe.oz@mail.example", 300), ("b", "ann lee", "ann@mail.example", 100),
            ("c", "Bob Leeds", "bob@other.example", 200),
        ]
        for (index, (id, name, email, total)) in people.enumerated() {
            let names = name.split(separator: " ").map { JSON.string(String($0)) }
            let order = Self.order(
                Int64(index + 1), of: id,
                [
                    "email": .string(email), "total": .int(total),
                    "shippingAddress": ["firstName": names[0], "lastName": names[1], "phone": "+1 (415) 555-0100"],
                ])
            _ = try await Self.imported(order, bag)
        }
        let searches: [(JSON, [String])] = [
            ("LEE", ["b", "c"]), ("lee ann", ["b"]), ("ozturk", ["a"]), ("ZOE.OZ@mail", ["a"]), ("other", ["c"]),
            ("1415555", ["a", "b", "c"]), ("555-0100", ["a", "b", "c"]), ("nn", []), ("50%", []),
            // A letter of Unicode 16.
            ("Bob\u{A7CB}LEEDS", ["c"]),
        ]
        for (text, ids) in searches {
            #expect(try await Self.found(bag, ["search": text, "sort": "-name"]).sorted() == ids, "\(text)")
        }
        #expect(try await Self.found(bag, ["sort": "name"]) == ["b", "c", "a"])
        #expect(try await Self.found(bag, ["sort": "-email"]) == ["a", "c", "b"])
        #expect(try await Self.found(bag, ["sort": "-spent"]) == ["a", "c", "b"])
        let page = try await Self.answer(bag, ["sort": "spent", "limit": 1, "skip": 1])
        #expect(page["count"] == 3)
        #expect(page.at("results", 0, "customerId") == "c")

        try await bag.store.write { _ = try CustomerMarks.set(["VIP"], of: "c", in: $0) }
        #expect(try await Self.found(bag, ["tag": "VIP"]) == ["c"])
        #expect(try await Self.found(bag, ["tag": "VIP", "search": "ann"]).isEmpty)
        #expect(try await Self.answer(bag)["tags"] == [["tag": "VIP", "count": 1]])
        for wrong in [
            ["sort": "total"], ["sort": 1], ["skip": -1], ["limit": 0], ["search": 7], ["customerId": "*"], ["q": 1],
        ] as [JSON] {
            #expect(await parseCode { _ = try CustomerList(wrong) } == 142, "\(wrong.serializedText)")
        }
    }

    @Test(
        arguments: [
            ([:], 111), (["tags": "VIP"], 111), (["tags": [1]], 111), (["tags": [" "]], 142), (["tags": ["a,b"]], 142),
            (["tags": [.string(String(repeating: "x", count: 51))]], 142),
            (["tags": .array((0...CustomerMarks.tagsMax).map { JSON.string("t\($0)") })], 142), (["tags": []], nil),
            (["tags": ["VIP", "VIP", "  pays  late "]], nil),
        ] as [(JSON, Int?)])
    func tagsAreShortTextsWithoutCommas(_ parameters: JSON, _ code: Int?) async {
        #expect(await parseCode { _ = try CustomerMarks.tags(parameters) } == code)
    }
}
