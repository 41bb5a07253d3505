import AnalyticsService
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import Testing

/// The sales that are written anew from bag's orders.
@Suite struct SalesRebuildTests {
    private let sandbox: SandboxStore
    /// The day before, and the time at which bag read the page.
    private let day: Int64
    private let readAt: Int64

    init() async throws {
        sandbox = try await SandboxStore(analyticsPlan)
        readAt = Timestamp.now.milliseconds
        day = readAt - 86_400_000
    }

    private func add(_ id: String, total: Int64 = 700, refunded: Int64 = 0, at moment: Int64? = nil) async throws {
        let at = moment ?? day
        let made = OrderMade.with {
            ($0.orderID, $0.userID, $0.totalMinorUnits, $0.currency, $0.pieces) = (id, "u1", total, "usd", 2)
            ($0.orderNumber, $0.madeAt) = (1, at)
        }
        try await sandbox.store.write { try SalesLog.add(made, in: $0) }
        if refunded > 0 { try await refund(id, refunded, at: at) }
    }

    private func refund(
        _ id: String, _ amount: Int64, at moment: Int64, status: OrderStatus = .refunded
    ) async throws {
        let change = OrderChanged.with {
            ($0.orderID, $0.currency, $0.status) = (id, "usd", status.event)
            ($0.refundedMinorUnits, $0.changedAt) = (amount, moment)
        }
        try await sandbox.store.write { try SalesLog.add(change, in: $0) }
    }

    private func sale(_ id: String, refunded: Int64? = nil) -> JSON {
        let change = refunded.map { amount -> JSON in
            ["status": -2, "refundedMinorUnits": .int(amount), "changedAt": .int(day)]
        }
        return [
            "orderId": .string(id), "orderNumber": 1, "userId": "u1", "totalMinorUnits": 700, "currency": "usd",
            "pieces": 2, "madeAt": .int(day), "changes": .array(change.map { [$0] } ?? []),
        ]
    }

    private func write(_ sales: [JSON], after: String = "", until: JSON = .null) async throws {
        let parameters: JSON = [
            "after": .string(after), "until": until, "at": .int(readAt), "sales": .array(sales),
        ]
        let page = try SalesRebuild(parameters)
        try await sandbox.store.write { try page.write(in: $0) }
    }

    private func rows(_ sql: String) async throws -> [[SQLValue]] {
        try await sandbox.store.read { reader in
            try reader.rows(sql, []).map { row in try [row[0], row[1]] }
        }
    }

    private func sums() async throws -> [Int64] {
        try await sandbox.store.read { reader in
            let row = try reader.rows(
                """
                SELECT sum(orders) AS orders, sum(grossMinorUnits) AS gross, sum(refunds) AS refunds,
                sum(refundedMinorUnits) AS refunded FROM salesHours
                """, []
            ).first
            return try row.map { try [$0.int(0), $0.int(1), $0.int(2), $0.int(3)] } ?? []
        }
    }

    @Test func missingSalesComeAndWrongOnesGo() async throws {
        try await add("a", total: 1, refunded: 1)
        try await add("c", refunded: 50)
        try await add("x", refunded: 30)
        // Paid elsewhere, and too young to be in the page.
        try await refund("foreign", 40, at: day)
        try await add("young", refunded: 20, at: readAt)
        try await sandbox.store.write { _ = try $0.execute("UPDATE salesHours SET orders = orders + 7") }
        for _ in 0..<2 {
            try await write([sale("a", refunded: 100), sale("b"), sale("c")])
            #expect(
                try await rows("SELECT orderId, totalMinorUnits FROM sales ORDER BY orderId")
                    == [["a", 700], ["b", 700], ["c", 700], ["young", 700]])
            #expect(
                try await rows("SELECT orderId, minorUnits FROM refunds ORDER BY orderId")
                    == [["a", 100], ["foreign", 40], ["young", 20]])
            #expect(try await sums() == [4, 2800, 3, 160])
        }
    }

    /// A page changes the orders of its range only. The sums wait for the last page.
    @Test func aPageHasARange() async throws {
        for id in ["a", "b", "c", "d"] { try await add(id) }
        try await write([sale("c")], after: "a", until: "c")
        let ids = "SELECT orderId, orderNumber FROM sales ORDER BY orderId"
        #expect(try await rows(ids) == [["a", 1], ["c", 1], ["d", 1]])
        #expect(try await sums().first == 4)
        try await write([], after: "c")
        #expect(try await rows(ids) == [["a", 1], ["c", 1]])
        #expect(try await sums().first == 2)
    }

    @Test func aReversedRefundIsTakenBack() async throws {
        try await add("a", refunded: 200)
        try await refund("a", -200, at: day + 5)
        let kept = "SELECT orderId, minorUnits FROM refunds ORDER BY minorUnits"
        #expect(try await rows(kept) == [["a", -200], ["a", 200]])
        #expect(try await sums().suffix(2) == [0, 0])
    }

    /// The outbox keeps no order: a refund, its failure and the retry may arrive in any.
    @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    func theOrderOfArrivalChangesNothing(_ places: [Int]) async throws {
        try await add("a")
        let changes: [Int64] = [700, -700, 700]
        for place in places { try await refund("a", changes[place], at: day + Int64(place)) }
        #expect(try await sums().suffix(2) == [1, 700])
    }

    /// The page has both changes, so a message that comes before or after it is known.
    @Test(arguments: [true, false]) func aRebuildAroundAReversalCountsItOnce(_ isTold: Bool) async throws {
        try await add("a", refunded: 200)
        func fail() async throws { try await refund("a", -200, at: readAt, status: .made) }
        if isTold { try await fail() }
        var own = sale("a", refunded: 200)
        let failure: JSON = ["status": 1, "refundedMinorUnits": -200, "changedAt": .int(readAt)]
        own["changes"] = .array((own["changes"]?.arrayValue ?? []) + [failure])
        try await write([own])
        try await fail()
        #expect(try await sums().suffix(2) == [0, 0])
    }

    /// The database adds up the same sums as the log did sale by sale.
    @Test(arguments: ["UTC", "Asia/Kathmandu", "Asia/Kolkata", "Europe/Berlin"])
    func theSumsByHourAreThoseOfEachSale(_ name: String) async throws {
        let zone = try #require(ShopZone(name))
        let currencies = ["usd", "eur"]
        try await sandbox.store.write { [day] transaction in
            for index: Int64 in 0..<200 {
                let (id, currency) = ("o\(index)", currencies[Int(index % 2)])
                let at = day - index * 360_000
                let made = OrderMade.with {
                    ($0.orderID, $0.totalMinorUnits, $0.currency, $0.pieces) = (id, 100 + index, currency, 3)
                    ($0.orderNumber, $0.madeAt) = (index, at)
                }
                try SalesLog.add(made, zone: zone, in: transaction)
                guard index % 3 == 0 else { continue }
                let change = OrderChanged.with {
                    ($0.orderID, $0.currency, $0.changedAt) = (id, currency, at + 60_000)
                    $0.status = index % 2 == 0 ? OrderStatus.cancelled.event : OrderStatus.refunded.event
                    $0.refundedMinorUnits = index % 9
                }
                try SalesLog.add(change, zone: zone, in: transaction)
                guard index % 9 == 3 else { continue }
                var failure = change
                (failure.status, failure.refundedMinorUnits) = (OrderStatus.made.event, -change.refundedMinorUnits)
                failure.changedAt += 7_200_000
                try SalesLog.add(failure, zone: zone, in: transaction)
            }
        }
        func hours() async throws -> [[SQLValue]] {
            try await sandbox.store.read { reader in
                try reader.rows("SELECT * FROM salesHours ORDER BY currency, hour", []).map { row in
                    try (0..<8).map { try row[$0] }
                }
            }
        }
        let counted = try await hours()
        #expect(counted.count > 20)
        let page = try SalesRebuild(["after": "zzz", "at": .int(readAt), "sales": []])
        try await sandbox.store.write { try page.write(zone: zone, in: $0) }
        #expect(try await hours() == counted)
    }

    @Test func thePushOfASaleStays() async throws {
        try await add("a")
        try await sandbox.store.write {
            _ = try $0.execute("UPDATE sales SET pushHash = 'p', pushTappedAt = ?", [.int(day)])
        }
        try await write([sale("a")])
        #expect(try await rows("SELECT orderId, pushHash FROM sales") == [["a", "p"]])
    }

    @Test(
        arguments: [
            [:], ["after": "", "at": 1], ["after": "", "at": "1", "sales": []],
            ["after": "", "at": 1, "sales": [["orderId": "a"]]],
            ["after": "", "at": 1, "until": 5, "sales": []],
        ] as [JSON])
    func anythingElseIsRefused(_ parameters: JSON) async {
        #expect(await parseError { _ = try SalesRebuild(parameters) }?.code == .validationError)
    }
}
