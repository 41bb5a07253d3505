import ParseProtocol

/// A query's bound point, from which distances are measured.
struct NearPoint {
    /// The distance from a row's point in radians, as SQL.
    let distance: String
    private let axes: String
    /// The row's point and the query's point.
    private let (stored, place): (SQLPlace, SQLPlace)

    /// - Parameter stored: the row's point.
    init(_ point: GeoPoint, _ stored: SQLPlace, _ compiler: inout ConditionCompiler) {
        let isInSpace = compiler.info.dialect == .sqlite
        axes = isInSpace ? point.inSpace.map { compiler.bind(number: $0) }.joined(separator: ",") : ""
        self.stored = stored
        place = compiler.bind(point)
        distance = "satchel_distance(\(place.arguments),\(stored.arguments))"
    }

    /// The condition that a row may be within `radians`.
    func candidates(_ info: ClassInfo, row: String, within radians: String) -> String {
        guard info.dialect == .sqlite else { return onMap(within: radians) }
        return "\(row).id IN (SELECT id FROM \(GeoIndex.table(info)) WHERE \(reach(info, within: radians)))"
    }

    /// The same in PostgreSQL.
    func onMap(within radians: String) -> String { "\(stored.point) <@ satchel_around(\(place.point),\(radians))" }

    /// A map order that approximates the order of distances.
    var orderOnMap: String { "\(stored.point) <-> \(place.point)" }

    /// The condition on an entry of SQLite's index.
    func reach(_ info: ClassInfo, within radians: String) -> String {
        "\(GeoIndex.table(info)).id MATCH satchel_near(\(axes),satchel_chord(\(radians)))"
    }
}

/// `$nearSphere`: rows with a point, nearest first, optionally between two distances.
struct NearQuery {
    let point: NearPoint
    /// The largest distance in radians, as SQL. π covers the whole globe.
    let maximum: String
    /// The conditions on the distance, parts of the query's condition; empty without limits.
    let limits: [String]

    /// - Parameter siblings: the members next to `$nearSphere`, which may limit the distance.
    /// - Throws: `.invalidJSON` (107).
    init(
        _ raw: JSON, _ subject: QuerySubject, siblings: [String: JSON], _ compiler: inout ConditionCompiler
    ) throws {
        guard let point = GeoPoint(raw) else {
            throw ParseError(.invalidJSON, "bad $nearSphere value; it should be a valid GeoPoint")
        }
        self.point = NearPoint(point, subject.place, &compiler)
        let (nearest, farthest) = try NearQuery.reach(siblings)
        maximum = compiler.bind(number: farthest ?? .pi)
        var limits: [String] = []
        if farthest != nil { limits.append("\(self.point.distance)<=\(maximum)") }
        if let nearest { limits.append("\(self.point.distance)>=\(compiler.bind(number: nearest))") }
        self.limits = limits
    }

    /// The distance limits in radians, from the members next to `$nearSphere`.
    /// - Throws: `.invalidJSON` (107).
    static func reach(_ siblings: [String: JSON]) throws -> (nearest: Double?, farthest: Double?) {
        var (nearest, farthest): (Double?, Double?)
        for (name, radius) in distances {
            if let raw = siblings["$max\(name)"] {
                farthest = min(try GeoConstraint.distance(raw, "$max\(name)") / radius, farthest ?? .pi)
            }
            if let raw = siblings["$min\(name)"] {
                nearest = max(try GeoConstraint.distance(raw, "$min\(name)") / radius, nearest ?? 0)
            }
        }
        return (nearest, farthest)
    }

    /// The suffixes of the distance members after `$max` and `$min`, each with the earth's radius in its unit.
    private static let distances: [(name: String, radius: Double)] = [
        ("Distance", 1), ("DistanceInRadians", 1), ("DistanceInMiles", GeoPoint.earthMiles),
        ("DistanceInKilometers", GeoPoint.earthKilometers),
    ]

    static let distanceNames = Set(distances.flatMap { ["$max\($0.name)", "$min\($0.name)"] })

    /// The condition that a row has a point between the two distances, without an order.
    func condition(_ info: ClassInfo, _ compiler: inout ConditionCompiler) -> String {
        compiler.found(
            point.candidates(info, row: "o", within: maximum), and: ConditionCompiler.joined(limits, " AND "))
    }

    /// The SQL from `FROM` up to the order, for the rows near the point that pass `filter`.
    ///
    /// With `firstOnly`, the rows of the page and perhaps some more. The tree returns points nearly in order, so it
    /// quickly returns as many as the page needs. The farthest of those bounds the page: no row of the page can be
    /// farther. So the result never depends on the tree's order.
    func rows(_ info: ClassInfo, joins: String = "", filter: String, firstOnly: Bool) -> String {
        guard info.dialect == .sqlite else {
            return rowsOnMap(info, joins: joins, filter: filter, firstOnly: firstOnly)
        }
        let table = GeoIndex.table(info)
        func rows(within radians: String) -> String {
            let conditions = [point.reach(info, within: radians)] + (filter.isEmpty ? [] : [filter])
            return """
                FROM \(table) CROSS JOIN o\(info.id) o ON o.id=\(table).id\(joins) \
                WHERE \(conditions.joined(separator: " AND "))
                """
        }
        guard firstOnly else { return rows(within: maximum) }
        let farthest = "SELECT max(d) FROM (SELECT \(point.distance) d \(rows(within: maximum)) LIMIT ?3+?4)"
        return rows(within: "(\(farthest))")
    }

    /// The same in PostgreSQL, whose index returns places in the order of their distance on the map.
    private func rowsOnMap(_ info: ClassInfo, joins: String, filter: String, firstOnly: Bool) -> String {
        func rows(within radians: String) -> String {
            let conditions = [point.onMap(within: radians)] + (filter.isEmpty ? [] : [filter])
            return "FROM o\(info.id) o\(joins) WHERE \(conditions.joined(separator: " AND "))"
        }
        guard firstOnly else { return rows(within: maximum) }
        let first = "\(rows(within: maximum)) ORDER BY \(point.orderOnMap) LIMIT ?3::bigint+?4::bigint"
        return rows(within: "(SELECT max(d) FROM (SELECT \(point.distance) d \(first)) nearest)")
    }
}
