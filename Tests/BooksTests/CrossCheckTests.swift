import Books
import ParseProtocol
import Synchronization
import Testing

/// The checks across services, on rows that no service has to supply.
@Suite struct CrossCheckTests {
    private static let now = Timestamp(milliseconds: 100 * 86_400_000)

    /// The lists of a shop, and what its databases find by themselves.
    private final class Shop: BookSource {
        private struct State {
            var lists: [String: [JSON]]
            var found: [String: [JSON]] = [:]
            var asked = 0
        }

        private let state: Mutex<State>
        /// Called with the number of the question.
        private let change: @Sendable (_ asked: Int, _ lists: inout [String: [JSON]]) throws -> Void

        init(
            _ lists: [String: [JSON]],
            _ change: @escaping @Sendable (Int, inout [String: [JSON]]) throws -> Void = { _, _ in }
        ) {
            state = Mutex(State(lists: lists))
            self.change = change
        }

        func answer(_ question: JSON, by service: String) async throws -> JSON {
            try state.withLock { state in
                state.asked += 1
                try change(state.asked, &state.lists)
                guard let list = question["list"]?.stringValue else { return ["rows": 1, "found": []] }
                let after = question["after"]?.stringValue ?? ""
                let rows = (state.lists[list] ?? []).filter { $0["key"]?.stringValue ?? "" > after }
                // Two rows at a time.
                return ["rows": .array(Array(rows.prefix(2)))]
            }
        }
    }

    // MARK: Rows

    private static func checkout(_ key: JSON, _ more: JSON = [:]) -> JSON {
        row(
            [
                "key": key, "state": "made", "amount": 700, "currency": "usd", "charge": "ch", "number": 1,
                "at": .int(now.milliseconds), "mailed": 1, "refunded": 0, "pending": 0, "waits": 0, "mailwaits": 0,
            ], more)
    }

    private static func charge(_ key: JSON, _ more: JSON = [:]) -> JSON {
        row(
            [
                "key": key, "state": "succeeded", "amount": 700, "currency": "usd", "charge": "ch", "refunded": 0,
                "pending": 0, "ledger": 600,
            ], more)
    }

    private static func order(_ key: JSON, _ more: JSON = [:]) -> JSON {
        row(
            [
                "key": key, "paid": 1, "number": 1, "amount": 700, "currency": "usd", "at": .int(now.milliseconds),
                "refunded": 0, "waits": 0,
            ], more)
    }

    private static func sale(_ key: JSON, _ more: JSON = [:]) -> JSON {
        row(["key": key, "number": 1, "amount": 700, "currency": "usd", "refunded": 0], more)
    }

    private static func row(_ row: JSON, _ more: JSON) -> JSON {
        .object((row.objectValue ?? [:]).merging(more.objectValue ?? [:]) { $1 })
    }

    private static func reservation(_ key: JSON, _ state: JSON = "committed") -> JSON { ["key": key, "state": state] }

    private static let clean: [String: [JSON]] = [
        "checkouts": [checkout("a")], "charges": [charge("a")], "reservations": [reservation("a")],
        "confirmations": [["key": "a"]], "paidOrders": [order("o")], "sales": [sale("o")],
        "fileRows": [["key": "f"]], "filesOnDisk": [["key": "f"]],
    ]

    private static func look(_ source: any BookSource, pause: Duration? = nil) async -> BookReport {
        await BookAudit(source, now: { now }, pause: pause).run()
    }

    private static func found(_ changes: [String: [JSON]]) async -> [String] {
        await look(Shop(clean.merging(changes) { $1 })).findings.map { "\($0.check) \($0.row)" }
    }

    // MARK: Tests

    @Test func aCompleteShopIsClean() async {
        let report = await Self.look(Shop(Self.clean))
        #expect(report.findings == [])
        #expect(report.state == "clean")
        #expect(
            report.json["sums"] == [
                [
                    "day": "1970-04-11", "currency": "usd", "orders": 1, "bag": 700, "payments": 700, "analytics": 700,
                    "provider": 600,
                ]
            ])
    }

    private static let differences: [(changes: [String: [JSON]], expected: [String])] = [
        (["charges": []], ["order.charge a"]),
        (["charges": [charge("a", ["state": "declined"])]], ["order.charge a"]),
        (["charges": [charge("a", ["amount": 1])]], ["order.charge a"]),
        (["charges": [charge("a", ["currency": "eur"])]], ["order.charge a"]),
        (["charges": [charge("a", ["charge": "ch_2"])]], ["order.charge a"]),
        (["charges": [charge("a", ["refunded": 5])]], ["order.refund a"]),
        (["charges": [charge("a"), charge("b")]], ["charge.order b"]),
        (["charges": [charge("a"), charge("b", ["refunded": 700])]], []),
        (["charges": [charge("a"), charge("adopted:ch_1")]], []),
        (["reservations": []], ["order.reservation a"]),
        (["reservations": [reservation("a", "expired")]], ["order.reservation a"]),
        (["reservations": [reservation("a"), reservation("b")]], ["reservation.order b"]),
        (["reservations": [reservation("a"), reservation("b", "released")]], []),
        (["confirmations": []], ["order.mail a"]),
        (["sales": []], ["order.sale o"]),
        (["sales": [sale("o", ["number": 2])]], ["sale.amount o"]),
        (["sales": [sale("o", ["amount": 2])]], ["sale.amount o"]),
        (["sales": [sale("o", ["refunded": 2])]], ["sale.refund o"]),
        (["sales": [sale("o"), sale("p")]], ["sale.order p"]),
        (["paidOrders": [order("o", ["paid": 2])]], ["order.once o"]),
        (["filesOnDisk": []], ["file.content f"]),
        (["filesOnDisk": [["key": "e"], ["key": "f"]]], ["file.row e"]),
        (["bucketRows": [["key": "b", "file": 1]]], ["object.content b"]),
        (["objectsInBucket": [["key": "b"]]], ["object.row b"]),
    ]

    @Test(arguments: differences)
    func eachDifferenceIsFound(changes: [String: [JSON]], expected: [String]) async {
        #expect(await Self.found(changes) == expected)
    }

    /// Rows whose counterparts are still on their way, were never expected, or are too old to be there.
    private static let underWay: [[String: [JSON]]] = [
        ["checkouts": [checkout("a", ["mailwaits": 1])], "confirmations": []],
        ["checkouts": [checkout("a", ["mailed": 0])], "confirmations": []],
        ["checkouts": [checkout("a", ["waits": 1])], "reservations": [reservation("a", "reserved")]],
        ["checkouts": [checkout("a", ["at": 0])], "reservations": []],
        ["checkouts": [checkout("a", ["pending": 1])], "charges": [charge("a", ["refunded": 5])]],
        ["checkouts": [checkout("a", ["amount": 0, "charge": ""])], "charges": []],
        [
            "checkouts": [checkout("a"), checkout("b", ["state": "charged"])],
            "charges": [charge("a"), charge("b")],
        ],
        [
            "checkouts": [checkout("a"), checkout("b", ["state": "failed", "waits": 1])],
            "charges": [charge("a"), charge("b")],
        ],
        ["paidOrders": [order("o", ["waits": 1])], "sales": []],
        // An object that is to be deleted, or that the bucket does not have yet.
        ["bucketRows": [["key": "b", "file": 0]], "objectsInBucket": [["key": "b"]]],
        ["bucketRows": [["key": "b", "file": 0], ["key": "f", "file": 1]], "objectsInBucket": [["key": "f"]]],
    ]

    @Test(arguments: underWay)
    func whatIsUnderWayIsNoDifference(_ changes: [String: [JSON]]) async {
        #expect(await Self.found(changes) == [])
    }

    /// Lists arrive in pages of two rows that do not end at the same keys.
    @Test func listsOfAnyLengthAreComparedRowByRow() async {
        let keys = (10..<60).map { "k\($0)" }
        var lists = Self.clean
        lists["checkouts"] = keys.map { Self.checkout(.string($0)) }
        lists["charges"] = keys.filter { $0 != "k33" }.map { Self.charge(.string($0)) }
        lists["reservations"] = keys.filter { $0 < "k50" }.map { Self.reservation(.string($0)) }
        lists["confirmations"] = keys.map { ["key": .string($0)] }
        let found = await Self.look(Shop(lists)).findings
        #expect(found.filter { $0.check == "order.charge" }.map(\.row) == ["k33"])
        #expect(found.filter { $0.check == "order.reservation" }.map(\.row) == (50..<60).map { "k\($0)" })
        #expect(found.count == 11)
    }

    /// An order is paid between two answers, and complete at the second look.
    @Test func onlyWhatStaysWrongIsReported() async {
        var lists = Self.clean
        lists["sales"] = []
        lists["confirmations"] = []
        let questions = Mutex(0)
        _ = await Self.look(Shop(lists) { asked, _ in questions.withLock { $0 = asked } })
        let first = questions.withLock { $0 }
        let healing = Shop(lists) { asked, lists in if asked > first { lists["sales"] = [Self.sale("o")] } }
        let report = await Self.look(healing, pause: .milliseconds(1))
        #expect(report.findings.map(\.check) == ["order.mail"])
    }

    /// A row that is wrong at the first look stays wrong when its service is away at the second one.
    @Test func aServiceThatIsAwayAtTheSecondLookClearsNothing() async {
        var lists = Self.clean
        lists["sales"] = []
        let questions = Mutex(0)
        _ = await Self.look(Shop(lists) { asked, _ in questions.withLock { $0 = asked } })
        let first = questions.withLock { $0 }
        let leaving = Shop(lists) { asked, _ in
            if asked > first { throw ParseError(.serviceUnavailable, "It is away.") }
        }
        let report = await Self.look(leaving, pause: .milliseconds(1))
        #expect(report.findings.map(\.check) == ["order.sale"])
        #expect(report.state == "wrong")
        #expect(BookReport.table(report.json).contains("  o  order 1"))
    }

    @Test func aServiceThatIsAwayIsNamed() async {
        final class Away: BookSource {
            let shop = Shop(CrossCheckTests.clean)
            func answer(_ question: JSON, by service: String) async throws -> JSON {
                guard service != "mail" else { throw ParseError(.serviceUnavailable, "It is away.") }
                return try await shop.answer(question, by: service)
            }
        }
        let report = await Self.look(Away())
        #expect(report.state == "incomplete")
        #expect(report.missing == ["mail": "It is away."])
        let table = BookReport.table(report.json)
        #expect(table.contains("Not checked: mail. It is away."))
        #expect(!table.contains("order.charge"), "It needs mail.")
        #expect(table.contains("order.sale"))
    }

    @Test func listsThatWereNotReadToTheirEndsHaveNoSums() async {
        /// Payments answers for the first page of its charges only.
        final class Leaving: BookSource {
            private let shop: Shop

            init(_ shop: Shop) { self.shop = shop }

            func answer(_ question: JSON, by service: String) async throws -> JSON {
                guard question["list"] != "charges" || question["after"] == "" else {
                    throw ParseError(.serviceUnavailable, "It is away.")
                }
                return try await shop.answer(question, by: service)
            }
        }
        let keys: [JSON] = ["a", "b", "c"]
        var lists = Self.clean
        lists["checkouts"] = keys.map { Self.checkout($0) }
        lists["charges"] = keys.map { Self.charge($0) }
        let report = await Self.look(Leaving(Shop(lists)))
        #expect(report.missing["payments"] == "It is away.")
        let sums = report.json["sums"]?.arrayValue?.first
        #expect(sums?["bag"] == 0)
        #expect(sums?["analytics"] == 700, "Its lists were read to their ends.")
    }

    /// A shop that is paid by Stripe. Payments answers `{provider}` with these, from the first.
    private final class StripeShop: BookSource {
        private let shop: Shop
        private let days: [JSON]

        init(_ days: [JSON]) {
            self.days = days
            var lists = CrossCheckTests.clean
            let began: JSON = .int(CrossCheckTests.now.milliseconds - 1)
            lists["charges"] = [CrossCheckTests.charge("a", ["ledger": .null, "stripe": began])]
            shop = Shop(lists)
        }

        func answer(_ question: JSON, by service: String) async throws -> JSON {
            guard let day = question["provider"]?.intValue else { return try await shop.answer(question, by: service) }
            return days[Int(day)]
        }
    }

    private static func day(_ before: Int64, _ more: JSON = [:]) -> JSON {
        let (from, until) = (now.milliseconds - (before + 1) * 86_400_000, now.milliseconds - before * 86_400_000)
        return row(["from": .int(from), "until": .int(until), "rows": 2, "found": []], more)
    }

    @Test func whatStripeHasIsComparedDayByDay() async {
        let clean = await Self.look(StripeShop([Self.day(1, ["next": 1]), Self.day(0)]))
        #expect(clean.state == "clean")
        #expect(clean.json["sums"]?.arrayValue?.map { $0["provider"] } == [700])
        let check = clean.json["checks"]?.arrayValue?.first { $0["check"] == "stripe.refund" }
        #expect(check?["rows"] == 4)

        let found: JSON = ["check": "stripe.charge", "name": "a", "found": "It has less.", "ledger": 650]
        let wrong = await Self.look(StripeShop([Self.day(0, ["found": [found]])]), pause: .milliseconds(1))
        #expect(wrong.findings == [BookFinding("stripe.charge", "a", "It has less.")])
        #expect(wrong.json["sums"]?.arrayValue?.map { $0["provider"] } == [650])
    }

    @Test func aFindingThatStripeDoesNotConfirmStays() async {
        /// Stripe answers the first question only.
        final class Fading: BookSource {
            private let asked = Mutex(0)
            private let days: [StripeShop]

            init(_ days: [StripeShop]) { self.days = days }

            func answer(_ question: JSON, by service: String) async throws -> JSON {
                guard question["provider"] != nil else { return try await days[0].answer(question, by: service) }
                let number = asked.withLock { asked in
                    defer { asked += 1 }
                    return asked
                }
                return try await days[number].answer(question, by: service)
            }
        }
        let found: JSON = ["check": "stripe.charge", "name": "a", "found": "It has less.", "ledger": 650]
        let shops = [StripeShop([Self.day(0, ["found": [found]])]), StripeShop([["problem": "Stripe answered 429"]])]
        let report = await Self.look(Fading(shops), pause: .milliseconds(1))
        #expect(report.findings == [BookFinding("stripe.charge", "a", "It has less.")])
        #expect(report.missing == ["Stripe": "Stripe answered 429"])
    }

    @Test func aDayThatWasNotComparedWithStripeHasNoSum() async {
        let report = await Self.look(StripeShop([Self.day(1, ["next": 1]), ["problem": "Stripe answered 429"]]))
        #expect(report.state == "incomplete")
        #expect(report.missing == ["Stripe": "Stripe answered 429"])
        #expect(report.json["sums"]?.arrayValue?.map { $0["provider"] } == [.null])
        let table = BookReport.table(report.json)
        #expect(table.contains("Not checked: Stripe. Stripe answered 429"))
        #expect(table.contains("order.charge"), "It needs no provider.")
    }

    @Test func theTableSaysWhatToDo() async {
        var lists = Self.clean
        lists["sales"] = []
        let report = await Self.look(Shop(lists))
        #expect(report.state == "wrong")
        let lines = BookReport.table(report.json).split(separator: "\n").map(String.init)
        #expect(lines.contains { $0.hasPrefix("order.sale ") && $0.hasSuffix(" 1") })
        #expect(lines.contains("  o  order 1"))
        #expect(lines.contains("  What to do: scripts/verify --rebuild sales writes them anew from the orders."))
    }
}
