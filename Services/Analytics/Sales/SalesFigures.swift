import ObjectStore
import ParseProtocol
import ServiceKit

/// Sales per interval and currency, for operators.
struct SalesFigures {
    let range: SeriesRange
    let reader: StoreReader

    /// A currency's sums by interval.
    private func sums(_ currency: String) throws -> [Int64: [String: Int64]] {
        let sums = SalesLog.columns.map { "sum(\($0)) AS \($0)" }.joined(separator: ", ")
        let rows = try reader.rows(
            """
            SELECT \(range.firstHour) AS firstHour, \(sums) FROM salesHours \
            WHERE currency = ? AND hour >= ? AND hour < ? GROUP BY 1
            """,
            [.text(currency), .int(range.fromHour), .int(range.toHour)])
        return Dictionary(
            try rows.map { row in
                (
                    try row.int("firstHour") / range.interval.hours,
                    Dictionary(uniqueKeysWithValues: try SalesLog.columns.map { ($0, try row.int($0)) })
                )
            }, uniquingKeysWith: { _, last in last })
    }

    /// Sales minus refunds, in minor units.
    func net(_ currency: String) throws -> [Int64: Int64] { try sums(currency).mapValues(Self.net) }

    private static func net(_ sums: [String: Int64]) -> Int64 {
        (sums["grossMinorUnits"] ?? 0) - (sums["refundedMinorUnits"] ?? 0)
    }

    /// Every currency with sales in the range, with its points and totals.
    func all() throws -> JSON {
        let currencies = try reader.rows(
            "SELECT DISTINCT currency FROM salesHours WHERE hour >= ? AND hour < ? ORDER BY currency",
            [.int(range.fromHour), .int(range.toHour)]
        ).map { try $0.text("currency") }
        return try .array(
            currencies.map { currency in
                let sums = try sums(currency)
                var totals: [String: Int64] = [:]
                for sum in sums.values { totals.merge(sum, uniquingKeysWith: +) }
                return [
                    "currency": .string(currency), "totals": Self.json(totals),
                    "points": .array(
                        range.buckets.map { bucket in
                            var point = Self.json(sums[bucket] ?? [:])
                            point["at"] = range.moment(of: bucket).wire
                            return point
                        }),
                ]
            })
    }

    private static func json(_ sums: [String: Int64]) -> JSON {
        var members = Dictionary(uniqueKeysWithValues: SalesLog.columns.map { ($0, JSON.int(sums[$0] ?? 0)) })
        members["netMinorUnits"] = .int(net(sums))
        return .object(members)
    }
}
