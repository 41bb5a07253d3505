import AnalyticsService
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// Figures are counted and summed in days of the shop's time zone.
@Suite struct AnalyticsZoneTests {
    private let sandbox: SandboxStore

    init() async throws { sandbox = try await SandboxStore(analyticsPlan) }

    private static func zone(_ name: String) throws -> ShopZone { try #require(ShopZone(name)) }

    private func sell(_ moments: [String], in zone: ShopZone) async throws {
        let orders = try moments.enumerated().map { index, text in
            let madeAt = try #require(Timestamp(iso: text)).milliseconds
            return OrderMade.with {
                ($0.orderID, $0.orderNumber, $0.userID) = ("o\(index)", Int64(index), "u1")
                ($0.totalMinorUnits, $0.currency, $0.pieces, $0.madeAt) = (100, "usd", 1, madeAt)
            }
        }
        try await sandbox.store.write { transaction in
            for order in orders { try SalesLog.add(order, zone: zone, in: transaction) }
        }
    }

    /// Orders by interval, as the functions sum them.
    private func orders(_ range: SeriesRange) async throws -> [Int64: Int64] {
        try await sandbox.store.read { reader in
            try range.values(
                byFirstHour: try reader.rows(
                    """
                    SELECT \(range.firstHour) AS bucket, sum(orders) AS total FROM salesHours
                    WHERE hour >= ? AND hour < ? GROUP BY 1
                    """,
                    [.int(range.fromHour), .int(range.toHour)]))
        }
    }

    private struct Point {
        let start: String
        let orders: Int64
    }

    private func points(_ from: String, _ to: String, in zone: ShopZone) async throws -> [Point] {
        let range = try SeriesRange(["from": .string(from), "to": .string(to)], zone: zone)
        let sums = try await orders(range)
        return range.buckets.map { Point(start: range.moment(of: $0).iso, orders: sums[$0] ?? 0) }
    }

    @Test(
        arguments: [
            // 23 hours in spring, 25 in autumn; the first and the last moment of each.
            (
                "Europe/Berlin",
                [
                    "2025-03-29T22:59:59.999Z", "2025-03-29T23:00:00.000Z", "2025-03-30T21:59:59.999Z",
                    "2025-03-30T22:00:00.000Z",
                ], ["2025-03-28T23:00:00.000Z", "2025-03-29T23:00:00.000Z", "2025-03-30T22:00:00.000Z"], [1, 2, 1]
            ),
            (
                "Europe/Berlin",
                [
                    "2025-10-25T21:59:59.999Z", "2025-10-25T22:00:00.000Z", "2025-10-26T22:59:59.999Z",
                    "2025-10-26T23:00:00.000Z",
                ], ["2025-10-24T22:00:00.000Z", "2025-10-25T22:00:00.000Z", "2025-10-26T23:00:00.000Z"], [1, 2, 1]
            ),
            (
                "America/New_York",
                [
                    "2025-11-02T03:59:59.999Z", "2025-11-02T04:00:00.000Z", "2025-11-03T04:59:59.999Z",
                    "2025-11-03T05:00:00.000Z",
                ], ["2025-11-01T04:00:00.000Z", "2025-11-02T04:00:00.000Z", "2025-11-03T05:00:00.000Z"], [1, 2, 1]
            ),
            (
                "Asia/Kathmandu",
                [
                    "2025-03-29T18:14:59.999Z", "2025-03-29T18:15:00.000Z", "2025-03-30T18:14:59.999Z",
                    "2025-03-30T18:15:00.000Z",
                ], ["2025-03-28T18:15:00.000Z", "2025-03-29T18:15:00.000Z", "2025-03-30T18:15:00.000Z"], [1, 2, 1]
            ),
        ] as [(String, [String], [String], [Int64])])
    func salesAreOfTheShopsDay(name: String, moments: [String], starts: [String], counts: [Int64]) async throws {
        let zone = try Self.zone(name)
        try await sell(moments, in: zone)
        let (first, last) = (try #require(moments.first), try #require(moments.last))
        let later = try #require(Timestamp(iso: last)).advanced(by: .milliseconds(1)).iso
        let points = try await points(first, later, in: zone)
        #expect(points.map(\.start) == starts)
        #expect(points.map(\.orders) == counts)
    }

    /// Sums are kept per hour, so days of another zone are right as well, in zones with whole hours.
    @Test func anotherZoneSumsTheHoursAnew() async throws {
        try await sell(["2025-06-01T03:30:00.000Z", "2025-06-01T23:30:00.000Z"], in: .utc)
        let (from, to) = ("2025-06-01T12:00:00.000Z", "2025-06-01T12:00:00.001Z")
        #expect(try await points(from, to, in: .utc).map(\.orders) == [2])
        #expect(try await points(from, to, in: Self.zone("America/New_York")).map(\.orders) == [1])
        #expect(try await points(from, to, in: Self.zone("Europe/Berlin")).map(\.orders) == [1])
    }

    /// An event late in the evening in UTC is of the next day in Kathmandu, in every roll-up.
    @Test func eventsAreOfTheShopsDay() async throws {
        let zone = try Self.zone("Asia/Kathmandu")
        let today = zone.day(of: .now)
        let start = zone.start(ofDay: today - 2)
        let caller = Caller(userId: "u1", installationId: "i1")
        for at in [start.advanced(by: .milliseconds(-1)), start] {
            let body: JSON = ["at": at.wire, "dimensions": ["screen": "bag"]]
            let event = try Event(name: "AppOpened", body: body.serialized)
            try await sandbox.store.write { try EventIntake.take(event, by: caller, zone: zone, in: $0) }
        }
        for table in ["dimensionDays", "activeDays"] {
            let days = "SELECT count(DISTINCT day) FROM \(table) WHERE day IN (\(today - 3), \(today - 2))"
            #expect(try await sandbox.count(days) == 2, "\(table)")
        }
        let from: JSON = .string(start.advanced(by: .seconds(-1)).iso)
        let figures = try await sandbox.store.read {
            try CohortFigures(["interval": "day", "from": from], zone: zone).all($0)
        }
        let cohorts = figures["cohorts"]?.arrayValue ?? []
        #expect(cohorts.map { $0["size"] } == [1, 0, 0, 0], "\(figures.serializedText)")
        #expect(cohorts.first?["returned"] == [1, 0, 0])
        #expect(cohorts.dropFirst().first?["at"] == start.wire)
    }
}
