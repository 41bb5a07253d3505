import ParseProtocol

/// One constraint on a value (PARSE_PROTOCOL section 4.1).
enum LiveTest {
    /// An operand that equals no value: a text that is never stored.
    case never
    case equals(JSON)
    case isIn(LiveList)
    case order(JSON, @Sendable (Int) -> Bool)
    /// The operand is a time relative to now.
    case relative(String, named: String, @Sendable (Int) -> Bool)
    case exists(Bool)
    case hasAll([LiveTest])
    case containedBy(LiveList)
    case pattern(Regex)
    case area((JSON) -> Bool)
    indirect case not(LiveTest)

    // MARK: Parsing

    /// The tests of a constraint or a plain value.
    static func tests(of value: JSON, _ path: LivePath) throws -> [LiveTest] {
        guard case .object(let members) = value, members.keys.contains(where: { $0.hasPrefix("$") }) else {
            return [try equality(value, path)]
        }
        return try members.sorted { $0.key < $1.key }.compactMap { try test($0.key, $0.value, members, path) }
    }

    private static let comparisons: [String: @Sendable (Int) -> Bool] = [
        "$lt": { $0 < 0 }, "$lte": { $0 <= 0 }, "$gt": { $0 > 0 }, "$gte": { $0 >= 0 },
    ]

    private static func test(
        _ name: String, _ raw: JSON, _ siblings: [String: JSON], _ path: LivePath
    ) throws -> LiveTest? {
        if let compares = comparisons[name] {
            if let relative = raw["$relativeTime"] {
                guard let text = relative.stringValue else { throw bad(name) }
                _ = try RelativeTime.resolve(text, in: name, now: .now)
                return .relative(text, named: name, compares)
            }
            guard let operand = try operand(raw, path) else { return .never }
            return .order(operand, compares)
        }
        switch name {
        case "$eq": return try equality(raw, path)
        case "$ne": return .not(try equality(raw, path))
        case "$in": return .isIn(try list(name, raw, path))
        case "$nin": return .not(.isIn(try list(name, raw, path)))
        case "$all": return try all(raw, path)
        case "$containedBy": return .containedBy(try list(name, raw, path))
        case "$exists":
            guard case .bool(let isWanted) = raw else { throw bad(name) }
            return .exists(isWanted)
        case "$regex": return .pattern(try pattern(raw, siblings["$options"]))
        case "$options": return nil
        case "$within", "$geoWithin", "$geoIntersects": return .area(try area(name, raw))
        case "$nearSphere": return .area(try near(raw, siblings))
        case _ where NearQuery.distanceNames.contains(name): return nil
        case "$text", "$inQuery", "$notInQuery", "$select", "$dontSelect": throw LiveCondition.notLive(name)
        default: throw ParseError(.invalidJSON, "bad constraint: \(name.prefix(100))")
        }
    }

    private static func bad(_ name: String) -> ParseError { ParseError(.invalidJSON, "bad \(name) value") }

    /// A value in the form of document values; nil for a text that is never stored. A text can stand for a pointer's
    /// id, and for `createdAt` and `updatedAt`.
    private static func operand(_ raw: JSON, _ path: LivePath) throws -> JSON? {
        guard case .string(let text) = raw else { return try WireValue.normalized(raw) }
        if text.utf8.contains(0) { return nil }
        if case .pointer(let target)? = path.type { return .pointer(target, text) }
        if path.isInstant { return Timestamp(iso: text)?.wire }
        return raw
    }

    private static func equality(_ raw: JSON, _ path: LivePath) throws -> LiveTest {
        guard let wanted = try operand(raw, path) else { return .never }
        return .equals(wanted)
    }

    private static func list(_ name: String, _ raw: JSON, _ path: LivePath) throws -> LiveList {
        guard case .array(let values) = raw else { throw bad(name) }
        guard values.count <= ConditionCompiler.listMax else {
            throw ParseError(.invalidQuery, "A list in a query may have at most \(ConditionCompiler.listMax) values.")
        }
        return LiveList(try values.compactMap { try operand($0, path) })
    }

    private static func all(_ raw: JSON, _ path: LivePath) throws -> LiveTest {
        guard case .array(let values) = raw else { throw bad("$all") }
        return .hasAll(
            try values.map { value in
                guard let text = value["$regex"] else { return try equality(value, path) }
                return .pattern(try pattern(text, value["$options"]))
            })
    }

    private static func pattern(_ raw: JSON, _ options: JSON?) throws -> Regex {
        guard case .string(let pattern) = raw else { throw ParseError(.invalidJSON, "bad regex") }
        return try Regex(pattern: pattern, options: options?.stringValue ?? "")
    }

    // MARK: Points

    private static func area(_ name: String, _ raw: JSON) throws -> (JSON) -> Bool {
        switch (name, raw.objectValue?.keys.first) {
        case ("$within", "$box"):
            let box = try GeoConstraint.box(raw["$box"])
            return { GeoPoint($0).map(box.contains) ?? false }
        case ("$geoWithin", "$polygon"):
            guard let polygon = GeoPolygon(corners: try GeoConstraint.polygon(raw["$polygon"])) else {
                throw GeoConstraint.tooFewCorners
            }
            return { GeoPoint($0).map(polygon.contains) ?? false }
        case ("$geoWithin", "$centerSphere"):
            let (center, radians) = try GeoConstraint.circle(raw["$centerSphere"])
            return { GeoPoint($0).map { center.radians(to: $0) <= radians } ?? false }
        case ("$geoIntersects", "$point"):
            guard let point = raw["$point"].flatMap(GeoPoint.init) else { throw bad(name) }
            return { value in
                guard value.wireType == "Polygon", let coordinates = value["coordinates"] else { return false }
                return GeoPolygon(coordinates: coordinates)?.contains(point) ?? false
            }
        default: throw bad(name)
        }
    }

    /// Between two distances; without them, at any distance.
    private static func near(_ raw: JSON, _ siblings: [String: JSON]) throws -> (JSON) -> Bool {
        guard let center = GeoPoint(raw) else { throw bad("$nearSphere") }
        let (nearest, farthest) = try NearQuery.reach(siblings)
        return { value in
            guard let distance = GeoPoint(value).map({ center.radians(to: $0) }) else { return false }
            return distance <= farthest ?? .infinity && distance >= nearest ?? 0
        }
    }
}

// MARK: - Deciding

extension LiveTest {
    /// - Parameter value: the document's value; nil for a missing one.
    func holds(for value: JSON?, _ effort: MatchBudget) -> Bool {
        guard effort.spend(MatchBudget.test) else { return false }
        switch self {
        case .never: return false
        case .equals(let wanted): return LiveValue.equals(value, wanted, effort)
        case .isIn(let list): return LiveValue.matches(value ?? .null, effort, list.contains)
        case .order(let operand, let compares):
            return LiveValue.matches(value, effort) { LiveValue.order($0, operand).map(compares) ?? false }
        case .relative(let text, let name, let compares):
            guard let moment = try? RelativeTime.resolve(text, in: name, now: .now) else { return false }
            return LiveTest.order(moment.wire, compares).holds(for: value, effort)
        case .exists(let isWanted): return (value != nil) == isWanted
        case .hasAll(let tests): return !tests.isEmpty && tests.allSatisfy { $0.holds(for: value, effort) }
        case .containedBy(let list):
            return value?.arrayValue?.allSatisfy { effort.spend(1) && list.contains($0) } ?? false
        case .pattern(let regex):
            return LiveValue.matches(value, effort) {
                guard case .string(let text) = $0, effort.spend(MatchBudget.pattern) else { return false }
                // An interrupted match has already exhausted the effort.
                return (try? regex.matches(text, effort)) ?? false
            }
        case .area(let contains): return value.map(contains) ?? false
        case .not(let test): return !test.holds(for: value, effort)
        }
    }

    /// - Parameter values: the member of each object in an array. A constraint holds if it holds for any of them. Null
    ///   matches when one object lacks the member, or none has it (`ArrayMembers`).
    func holds(forMembers values: [JSON?], _ effort: MatchBudget) -> Bool {
        guard effort.spend(MatchBudget.test + values.count) else { return false }
        switch self {
        case .equals(.null): return LiveTest.isMissing(in: values)
        case .isIn(let list) where list.hasNull:
            return LiveTest.isMissing(in: values)
                || values.contains { value in
                    guard let value else { return false }
                    return LiveValue.matches(value, effort) { !$0.isNull && list.contains($0) }
                }
        case .exists(let isWanted): return values.contains { $0 != nil } == isWanted
        case .hasAll(let tests): return !tests.isEmpty && tests.allSatisfy { $0.holds(forMembers: values, effort) }
        case .not(let test): return !test.holds(forMembers: values, effort)
        default: return values.contains { holds(for: $0, effort) }
        }
    }

    private static func isMissing(in values: [JSON?]) -> Bool {
        let isNull = values.map { $0?.isNull ?? true }
        return !isNull.contains(false) || isNull.contains(true)
    }
}
