import ParseProtocol

/// A point of a query, bound, from which distances are measured.
struct NearPoint {
    /// The distance of a row's place in radians, as SQL.
    let distance: String
    private let axes: String

    /// - Parameter stored: the row's latitude and longitude, as two arguments in SQL.
    init(_ point: GeoPoint, _ stored: String, _ compiler: inout ConditionCompiler) {
        axes = point.inSpace.map { compiler.bind(.real($0)) }.joined(separator: ",")
        let place = [point.latitude, point.longitude].map { compiler.bind(.real($0)) }.joined(separator: ",")
        distance = "satchel_distance(\(place),\(stored))"
    }

    /// The index's entries that may be within so many radians, nearly in the order of their distance, as what follows
    /// `FROM`.
    func candidates(_ info: ClassInfo, within radians: String) -> String {
        let table = GeoIndex.table(info)
        return "\(table) WHERE \(reach(info, within: radians))"
    }

    func reach(_ info: ClassInfo, within radians: String) -> String {
        "\(GeoIndex.table(info)).id MATCH satchel_near(\(axes),satchel_chord(\(radians)))"
    }
}

/// `$nearSphere`: rows with a place, the nearest first, perhaps between two distances.
struct NearQuery {
    let point: NearPoint
    /// The largest distance in radians, as SQL. Half a turn reaches everything.
    let maximum: String
    /// The conditions on the distance, parts of the query's condition; empty when there is none.
    let limits: [String]

    /// - Parameter siblings: the members beside `$nearSphere`, which may limit the distance.
    /// - Throws: `.invalidJSON` (107).
    init(
        _ raw: JSON, _ subject: QuerySubject, siblings: [String: JSON], _ compiler: inout ConditionCompiler
    ) throws {
        guard let point = GeoPoint(raw) else {
            throw ParseError(.invalidJSON, "bad $nearSphere value; it should be a valid GeoPoint")
        }
        self.point = NearPoint(point, subject.place, &compiler)
        let (nearest, farthest) = try NearQuery.reach(siblings)
        maximum = compiler.bind(.real(farthest ?? .pi))
        var limits: [String] = []
        if farthest != nil { limits.append("\(self.point.distance)<=\(maximum)") }
        if let nearest { limits.append("\(self.point.distance)>=\(compiler.bind(.real(nearest)))") }
        self.limits = limits
    }

    /// The distances in radians between which places are looked for, by the members beside `$nearSphere`.
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

    /// The names of distances after `$max` and `$min`, each with the radius of the earth in its unit.
    private static let distances: [(name: String, radius: Double)] = [
        ("Distance", 1), ("DistanceInRadians", 1), ("DistanceInMiles", GeoPoint.earthMiles),
        ("DistanceInKilometers", GeoPoint.earthKilometers),
    ]

    static let distanceNames = Set(distances.flatMap { ["$max\($0.name)", "$min\($0.name)"] })

    /// The condition that a row has a place between the two distances, without an order.
    func condition(_ info: ClassInfo, _ compiler: inout ConditionCompiler) -> String {
        compiler.found(
            "o.id IN (SELECT id FROM \(point.candidates(info, within: maximum)))",
            and: ConditionCompiler.joined(limits, " AND "))
    }

    /// The SQL from `FROM` up to the order, for the rows near the point that pass `filter`.
    ///
    /// With `firstOnly` those of the page and perhaps some more. The tree gives places nearly in order, so that as many
    /// of them as the page needs are found soon; the farthest of those limits what can be on the page. Whichever they
    /// are, none that belongs there is farther, so that the result never depends on the tree's order.
    func rows(_ info: ClassInfo, joins: String = "", filter: String, firstOnly: Bool) -> String {
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
}
