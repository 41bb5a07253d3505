import ObjectStore
import ParseProtocol
import ServiceKit

/// The counts of each event per hour, and of each dimension value per day.
package enum EventCounts {
    /// Maximum different events per day. An app has dozens.
    private static let namesMax: Int64 = 500
    /// Maximum different dimensions of an event per day: allows for several versions of an app.
    private static let dimensionsMax: Int64 = 32
    /// Maximum different values of a dimension per day; a graph shows ten.
    package static let valuesMax: Int64 = 200

    static func add(
        _ event: Event, at moment: Timestamp, _ zone: ShopZone, in transaction: StoreTransaction
    ) throws {
        let (hour, day) = (zone.hour(of: moment), zone.day(of: moment))
        // The fast path: most events are not the first of their name and hour.
        let counted = try transaction.execute(
            "UPDATE eventHours SET count = count + 1 WHERE name = ? AND hour = ?",
            [.text(event.name), .int(hour)])
        if counted == 0 {
            let name = try admittedName(event.name, day, zone, in: transaction)
            _ = try transaction.execute(
                """
                INSERT INTO eventHours(name, hour, count) VALUES (?, ?, 1)
                ON CONFLICT(name, hour) DO UPDATE SET count = eventHours.count + 1
                """,
                [.text(name), .int(hour)])
            guard name != Cardinality.other else { return }
        }
        for (dimension, value) in event.dimensions {
            guard let text = value.stringValue else { continue }
            try add(text, of: dimension, of: event.name, day: day, in: transaction)
        }
    }

    private static func admittedName(
        _ name: String, _ day: Int64, _ zone: ShopZone, in transaction: StoreTransaction
    ) throws -> String {
        guard name != Event.opened else { return name }
        let hours = zone.hours(ofDay: day)
        let isKnown =
            try !transaction.rows(
                "SELECT 1 FROM eventHours WHERE name = ? AND hour >= ? AND hour < ? LIMIT 1",
                [.text(name), .int(hours.lowerBound), .int(hours.upperBound)]
            ).isEmpty
        if isKnown { return name }
        return try Cardinality.admits("names", day: day, maximum: namesMax, in: transaction)
            ? name : Cardinality.other
    }

    private static func add(
        _ value: String, of dimension: String, of name: String, day: Int64, in transaction: StoreTransaction
    ) throws {
        let key: [SQLValue] = [.text(name), .text(dimension), .int(day)]
        let counted = try transaction.execute(
            "UPDATE dimensionDays SET count = count + 1 WHERE name = ? AND dimension = ? AND day = ? AND value = ?",
            key + [.text(value)])
        guard counted == 0 else { return }
        let isKnown =
            try !transaction.rows(
                "SELECT 1 FROM dimensionDays WHERE name = ? AND dimension = ? AND day = ? LIMIT 1", key
            ).isEmpty
        if !isKnown {
            guard
                try Cardinality.admits(
                    "dimensions of \(name)", day: day, maximum: dimensionsMax, in: transaction)
            else { return }
        }
        let isAdmitted = try Cardinality.admits(
            "values of \(name) \(dimension)", day: day, maximum: valuesMax, in: transaction)
        _ = try transaction.execute(
            """
            INSERT INTO dimensionDays(name, dimension, day, value, count) VALUES (?, ?, ?, ?, 1)
            ON CONFLICT(name, dimension, day, value) DO UPDATE SET count = dimensionDays.count + 1
            """,
            key + [.text(isAdmitted ? value : Cardinality.other)])
    }

    /// Maximum names in a list.
    private static let listedMax = 500

    /// The names of all counted events by name, each with its last hour; and whether there are more. Each name costs
    /// two steps in an index, however many events it has.
    static func names(_ reader: StoreReader) throws -> (names: [(name: String, lastHour: Int64)], more: Bool) {
        let names = try distinct("name", in: "eventHours", of: nil, reader)
        let listed = try names.prefix(listedMax).map { name in
            let row = try reader.rows("SELECT max(hour) AS hour FROM eventHours WHERE name = ?", [.text(name)]).first
            return (name: name, lastHour: try row?["hour"].intValue ?? 0)
        }
        return (listed, names.count > listedMax)
    }

    /// The dimensions of an event by name; and whether there are more.
    static func dimensions(of name: String, _ reader: StoreReader) throws -> (names: [String], more: Bool) {
        let names = try distinct("dimension", in: "dimensionDays", of: name, reader)
        return (Array(names.prefix(listedMax)), names.count > listedMax)
    }

    /// Up to `listedMax + 1` different texts of a key's first column, or of its second one for an event.
    private static func distinct(
        _ column: String, in table: String, of event: String?, _ reader: StoreReader
    ) throws -> [String] {
        var found: [String] = []
        let condition = event == nil ? "" : "name = ? AND "
        while found.count <= listedMax {
            let row = try reader.rows(
                "SELECT min(\(column)) AS next FROM \(table) WHERE \(condition)\(column) > ?",
                (event.map { [.text($0)] } ?? []) + [.text(found.last ?? "")]
            ).first
            guard let next = try row?["next"].textValue else { break }
            found.append(next)
        }
        return found
    }

    /// Events of a name per interval.
    static func series(_ name: String, _ range: SeriesRange, _ reader: StoreReader) throws -> [Int64: Int64] {
        let rows = try reader.rows(
            """
            SELECT \(range.firstHour) AS bucket, sum(count) AS total FROM eventHours \
            WHERE name = ? AND hour >= ? AND hour < ? GROUP BY 1
            """,
            [.text(name), .int(range.fromHour), .int(range.toHour)])
        return try range.values(byFirstHour: rows)
    }

    /// The values of a dimension by frequency, the most frequent first.
    static func top(
        _ name: String, _ dimension: String, _ range: SeriesRange, limit: Int64, _ reader: StoreReader
    ) throws -> [(value: String, count: Int64)] {
        try reader.rows(
            """
            SELECT value, sum(count) AS total FROM dimensionDays WHERE name = ? AND dimension = ? AND day >= ? \
            AND day < ?
            GROUP BY value ORDER BY total DESC, value LIMIT ?
            """,
            [.text(name), .text(dimension), .int(range.fromDay), .int(range.toDay), .int(limit)]
        ).map { try ($0.text("value"), $0.int("total")) }
    }

    /// One value of a dimension per day.
    static func series(
        _ name: String, _ dimension: String, value: String, _ range: SeriesRange, _ reader: StoreReader
    ) throws -> [Int64: Int64] {
        try SeriesRange.values(
            try reader.rows(
                """
                SELECT day AS bucket, count AS total FROM dimensionDays
                WHERE name = ? AND dimension = ? AND day >= ? AND day < ? AND value = ?
                """,
                [.text(name), .text(dimension), .int(range.fromDay), .int(range.toDay), .text(value)]))
    }
}
