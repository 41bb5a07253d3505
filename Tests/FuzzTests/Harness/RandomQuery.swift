import ParseProtocol

/// Random `where` objects with every constraint, mostly with existing values, so that most of them find something.
struct RandomQuery {
    /// Fields with their kinds; a dotted name has the kind of its most common values.
    let fields: [(name: String, kind: ValueKind)]
    /// Values that a field has in some document.
    let values: [String: [JSON]]
    /// Percentage of queries with an invalid part.
    var faults = 0
    /// Whether a `$nearSphere` may be added. A query has at most one, at the top level.
    var allowsNear = true

    /// Patterns with the same meaning in PCRE2 and Foundation.
    private static let patterns = [
        "^a", "b$", "a", "^$", "[ab]+", "a.?b", "^(a|b)", "B", "\\d+", "^[^a]", "\\\\", "é", "aa?b", "0{1}", "\\Qa\\E",
    ]

    mutating func condition(_ random: inout Seeded) -> JSON {
        var condition = object(&random, depth: random.below(3), isTop: true)
        if random.chance(faults) { fault(&condition, &random) }
        return condition
    }

    private func object(_ random: inout Seeded, depth: Int, isTop: Bool) -> JSON {
        var members: [String: JSON] = [:]
        var hasNear = !isTop || !allowsNear
        for _ in 0..<(random.chance(60) ? 1 : random.below(4)) {
            let field = random.pick(fields)
            if field.kind == .geoPoint, !hasNear, random.chance(40), !field.name.contains(".") {
                hasNear = true
                members[field.name] = near(&random, field.name)
            } else if members[field.name] == nil {
                members[field.name] = constraint(&random, field.name, field.kind)
            }
        }
        if depth > 0, random.chance(60) {
            let clauses = (0...random.below(3)).map { _ in object(&random, depth: depth - 1, isTop: false) }
            members[random.pick(["$or", "$or", "$and", "$nor"])] = .array(clauses)
        }
        return .object(members)
    }

    // MARK: Constraints

    private func constraint(_ random: inout Seeded, _ field: String, _ kind: ValueKind) -> JSON {
        if kind == .geoPoint || kind == .polygon, !field.contains("."), random.chance(60) {
            return area(&random, field, kind)
        }
        switch random.below(12) {
        case 0, 1, 2:
            let value = operand(&random, field, kind)
            return value.objectValue?.keys.contains { $0.hasPrefix("$") } == true ? ["$eq": value] : value
        case 3: return ["$ne": operand(&random, field, kind)]
        case 4, 5:
            var bounds: [String: JSON] = [:]
            for _ in 0...random.below(2) {
                bounds[random.pick(["$lt", "$lte", "$gt", "$gte"])] = operand(&random, field, kind)
            }
            if kind == .date, field != "missing", !field.contains("."), random.chance(20) {
                bounds = [
                    random.pick(["$lt", "$gt"]): [
                        "$relativeTime": random.pick(["now", "12 days ago", "in 1 year 2 hours"])
                    ]
                ]
            }
            return .object(bounds)
        case 6, 7: return [random.pick(["$in", "$in", "$nin"]): .array(list(&random, field, kind))]
        case 8: return ["$exists": .bool(random.chance(60))]
        case 9 where [.string, .array, .object].contains(kind) || random.chance(10):
            var members: [String: JSON] = ["$regex": .string(random.pick(Self.patterns))]
            if random.chance(40) { members["$options"] = random.pick(["i", "", "m", "s"]) }
            return .object(members)
        case 10:
            if kind == .array, random.chance(30) {
                return [
                    "$all": .array((0...random.below(2)).map { _ in ["$regex": .string(random.pick(Self.patterns))] })
                ]
            }
            return ["$all": .array(list(&random, field, kind))]
        case 11 where kind == .array || random.chance(20):
            let lists = (0..<random.below(5)).flatMap { _ in list(&random, field, kind) }
            return ["$containedBy": .array(lists)]
        default: return ["$ne": operand(&random, field, kind), "$exists": .bool(random.chance(80))]
        }
    }

    private func list(_ random: inout Seeded, _ field: String, _ kind: ValueKind) -> [JSON] {
        (0..<random.below(4)).map { _ in random.chance(8) ? .null : operand(&random, field, kind) }
    }

    /// A value for a comparison, in the form that clients send.
    private func operand(_ random: inout Seeded, _ field: String, _ kind: ValueKind) -> JSON {
        var value = ValueKind.any(&random, depth: 1)
        let known = values[field] ?? []
        if random.chance(75), !known.isEmpty {
            value = random.pick(known)
        } else if random.chance(60) {
            value = kind.value(&random, depth: 1)
        }
        if case .array(let elements) = value, !elements.isEmpty, random.chance(85) { value = random.pick(elements) }
        switch value.wireType {
        case "Pointer" where random.chance(15):
            value["__type"] = "Object"
            value["title"] = "x"
        case "Pointer" where random.chance(15): value = value["objectId"] ?? value
        case "Date" where random.chance(20):
            value["iso"] = value["iso"]?.stringValue.map {
                .string($0.replacing(".000Z", with: "Z").replacing(".500Z", with: ".5Z"))
            }
        default: break
        }
        return value
    }

    // MARK: Places

    private func place(_ random: inout Seeded, _ field: String) -> JSON {
        let known = (values[field] ?? []).filter { $0.wireType == "GeoPoint" }
        return !known.isEmpty && random.chance(50) ? random.pick(known) : ValueKind.point(&random)
    }

    private func near(_ random: inout Seeded, _ field: String) -> JSON {
        var members: [String: JSON] = ["$nearSphere": place(&random, field)]
        let kilometers = random.pick([1, 100, 2000, 9000.5, 30000])
        switch random.below(7) {
        case 0: members["$maxDistance"] = JSON(number: kilometers / 6371)
        case 1: members["$maxDistanceInRadians"] = JSON(number: kilometers / 6371)
        case 2: members["$maxDistanceInMiles"] = JSON(number: kilometers)
        case 3: members["$maxDistanceInKilometers"] = JSON(number: kilometers)
        default: break
        }
        return .object(members)
    }

    private func area(_ random: inout Seeded, _ field: String, _ kind: ValueKind) -> JSON {
        if kind == .polygon { return ["$geoIntersects": ["$point": ValueKind.point(&random)]] }
        switch random.below(4) {
        case 0:
            return ["$within": ["$box": [place(&random, field), place(&random, field)]]]
        case 1: return ["$geoWithin": ["$polygon": ValueKind.polygon(&random)]]
        case 2:
            let corners = ValueKind.polygon(&random)["coordinates"]?.arrayValue?.dropLast().map { pair -> JSON in
                ["__type": "GeoPoint", "latitude": pair.arrayValue?[0] ?? 0, "longitude": pair.arrayValue?[1] ?? 0]
            }
            return ["$geoWithin": ["$polygon": .array(corners ?? [])]]
        default:
            return [
                "$geoWithin": ["$centerSphere": [place(&random, field), JSON(number: random.pick([0.01, 0.3, 1.1]))]]
            ]
        }
    }

    // MARK: Faults

    /// Inserts one part that must be refused.
    private func fault(_ condition: inout JSON, _ random: inout Seeded) {
        let field = random.pick(fields).name
        let faults: [(String, JSON)] = [
            (field, ["$foo": 1]), (field, ["$in": 1]), (field, ["$nin": "x"]), (field, ["$all": 2]),
            (field, ["$containedBy": .null]),
            (field, ["$exists": 1]), (field, ["$lt": 1, "x": 2]), (field, ["$regex": 1]), (field, ["$regex": "("]),
            (field, ["$regex": "a", "$options": "g"]), ("$or", 1), ("$and", [:]), ("$nor", []), ("$or", [1]),
            ("ACL", ["*": ["read": true]]),
            ("a-b", 1), ("_rperm", "x"), ("$foo", []), ("a..b", 1), ("1a", 1), ("", 1), ("string.0.1.2", 1),
            ("object2.__type", "Date"), ("object2.x'", 1), ("0.string", 1),
            (field, ["__type": "Date", "iso": "yesterday"]),
            (field, ["__type": "Nonsense"]), (field, ["$eq": ["__type": "GeoPoint", "latitude": 91, "longitude": 0]]),
        ]
        let (key, value) = random.pick(faults)
        condition[key] = value
    }
}
