import BagService
import ObjectStore
import ParseProtocol
import ServiceSupport
import Testing

/// What sold, by product: all orders of a period, and the refunds in it.
@Suite struct ProductSalesTests {
    private static let day: Int64 = 86_400_000
    private static func at(_ day: Int64) -> Timestamp { Timestamp(milliseconds: (20_000 + day) * Self.day) }

    private static func sums(
        _ bag: BagStore, from: Int64, to: Int64, currency: Currency = .standard
    ) async throws -> [String: ProductSales.Sum] {
        let reading = ProductSalesReading(currency: currency, shopCurrency: .standard)
        return try await bag.store.read { reader in
            var sales = try reading.orders(from: at(from), to: at(to), in: reader)
            sales.add(try reading.refunds(from: at(from), to: at(to), in: reader))
            return sales.sums
        }
    }

    /// A placed order with lines of a product, its pieces and the price of one.
    private static func order(
        _ lines: [(product: String, pieces: Int64, unit: Int64)], on day: Int64, _ more: JSON = [:],
        in transaction: StoreTransaction
    ) throws -> (id: String, items: [String]) {
        let items = try lines.map { line in
            try transaction.create(
                "OrderItem",
                [
                    "product": .pointer("Product", line.product), "quantity": .int(line.pieces),
                    "unitPriceMinorUnits": .int(line.unit), "name": .string("The \(line.product)"),
                ], caller: .master
            ).objectId
        }
        var order: JSON = [
            "orderStatus": 1, "orderDate": at(day).wire, "items": .array(items.map { .pointer("OrderItem", $0) }),
        ]
        for (name, value) in more.objectValue ?? [:] { order[name] = value }
        return (try transaction.create("Order", order, caller: .master).objectId, items)
    }

    private static func refund(
        _ id: String, of order: String, _ amount: Int64, lines: JSON? = nil, on day: Int64, state: String = "done",
        in transaction: StoreTransaction
    ) throws {
        _ = try transaction.execute(
            """
            INSERT INTO refunds(id, orderId, checkoutId, purpose, amount, reason, restock, lines, state, createdAt, \
            changedAt) VALUES (?, ?, '', 'refund', ?, '', 0, ?, ?, ?, ?)
            """,
            [
                .text(id), .text(order), .int(amount), lines.map { .text($0.serializedText) } ?? .null, .text(state),
                .int(at(day).milliseconds), .int(at(day).milliseconds),
            ])
    }

    @Test(.timeLimit(.minutes(5))) func everyOrderOfThePeriodCounts() async throws {
        let bag = try await BagStore()
        try await bag.store.write { transaction in
            for _ in 0..<2101 { _ = try Self.order([("soap", 2, 350)], on: 1, in: transaction) }
            _ = try Self.order([("soap", 1, 350), ("comb", 3, 1200)], on: 2, ["currency": "usd"], in: transaction)
            _ = try Self.order([("soap", 9, 900)], on: 2, ["currency": "eur"], in: transaction)
            _ = try Self.order([("soap", 9, 350)], on: 2, ["orderStatus": 0], in: transaction)
            _ = try Self.order([("soap", 9, 350)], on: 3, in: transaction)
        }
        let sums = try await Self.sums(bag, from: 1, to: 3)
        #expect(
            sums == [
                "soap": .init(name: "The soap", pieces: 4203, grossMinorUnits: 4203 * 350),
                "comb": .init(name: "The comb", pieces: 3, grossMinorUnits: 3600),
            ])
        let inEuros = try await Self.sums(bag, from: 1, to: 3, currency: try Currency("eur"))
        #expect(inEuros == ["soap": .init(name: "The soap", pieces: 9, grossMinorUnits: 8100)])
    }

    /// Sales and refunds.
    @Test(arguments: ["USD", ""]) func anImportedCurrencyCounts(_ currency: String) async throws {
        let bag = try await BagStore()
        try await bag.store.write { transaction in
            let more: JSON = ["currency": .string(currency), "refundedTotal": 100]
            let (order, _) = try Self.order([("soap", 2, 350)], on: 1, more, in: transaction)
            try Self.refund("r1", of: order, 100, on: 1, in: transaction)
        }
        let sums = try await Self.sums(bag, from: 1, to: 2)
        #expect(
            sums == [
                "soap": .init(name: "The soap", pieces: 2, grossMinorUnits: 700, refundedMinorUnits: 100)
            ])
    }

    @Test func refundsCountWhereTheyWereMade() async throws {
        let bag = try await BagStore()
        let discounted: JSON = ["refundedTotal": 1600]
        try await bag.store.write { transaction in
            let (order, items) = try Self.order(
                [("soap", 2, 350), ("comb", 1, 1200)], on: 1, discounted, in: transaction)
            let comb: JSON = [["itemId": .string(items[1]), "quantity": 1]]
            try Self.refund("r1", of: order, 1200, lines: comb, on: 2, in: transaction)
            // No line is named: the comb is already paid back.
            try Self.refund("r2", of: order, 400, on: 4, in: transaction)
            try Self.refund("r3", of: order, 300, on: 4, state: "failed", in: transaction)
        }
        let first = try await Self.sums(bag, from: 1, to: 3)
        #expect(first["soap"] == .init(name: "The soap", pieces: 2, grossMinorUnits: 700))
        #expect(
            first["comb"] == .init(name: "The comb", pieces: 1, grossMinorUnits: 1200, refundedMinorUnits: 1200))
        let second = try await Self.sums(bag, from: 3, to: 5)
        #expect(second == ["soap": .init(name: "The soap", refundedMinorUnits: 400)])
    }

    /// The part of a refund that no line is named for is divided exactly.
    @Test func anImportedRefundIsDividedOverTheLines() async throws {
        let bag = try await BagStore()
        try await bag.store.write { transaction in
            _ = try Self.order(
                [("a", 1, 100), ("b", 1, 100), ("c", 1, 100)], on: 1, ["refundedTotal": 100], in: transaction)
            // No more than the paid amount is refunded.
            _ = try Self.order([("d", 1, 50)], on: 1, ["refundedTotal": 90], in: transaction)
        }
        let sums = try await Self.sums(bag, from: 1, to: 2)
        #expect(["a", "b", "c"].compactMap { sums[$0]?.refundedMinorUnits }.sorted() == [33, 33, 34])
        #expect(sums["d"]?.netMinorUnits == 0)
    }

    @Test func theRestIsSummedUp() {
        var sales = ProductSales()
        for (id, gross) in [("a", 500), ("b", 900), ("c", 100), ("d", 300)] as [(String, Int64)] {
            sales.add(.init(name: id, pieces: 1, grossMinorUnits: gross, refundedMinorUnits: 50), to: id)
        }
        let json = sales.json(limit: 2)
        #expect(json["results"]?.arrayValue?.map { $0["objectId"] } == ["b", "a"])
        #expect(json["others"]?["count"] == 2)
        #expect(json["others"]?["netMinorUnits"] == 300)
        #expect(json["total"]?["netMinorUnits"] == 1600)
        #expect(json["total"]?["pieces"] == 4)
        #expect(sales.json(limit: 9)["others"]?["count"] == 0)
    }
}
