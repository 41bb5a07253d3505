import Foundation
import ParseProtocol

/// The constraints of a `where` on one field.
struct FieldConstraint {
    private typealias Test = (JSON?) -> Bool
    private let tests: [(JSON?) -> Bool]

    /// - Throws: `Evaluator.Refused`.
    init(_ key: String, _ value: JSON, _ evaluator: Evaluator, isTop: Bool) throws {
        guard case .object(let members) = value, members.keys.contains(where: { $0.hasPrefix("$") }) else {
            let wanted = try Self.operand(value, key, evaluator)
            tests = [{ PlainValue.equals($0, wanted) }]
            return
        }
        tests = try members.map { try Self.test($0.key, $0.value, members, key, evaluator, isTop) }
    }

    func holds(_ value: JSON?) -> Bool { tests.allSatisfy { $0(value) } }

    private static func test(
        _ name: String, _ raw: JSON, _ siblings: [String: JSON], _ key: String, _ evaluator: Evaluator, _ isTop: Bool
    ) throws -> Test {
        switch name {
        case "$eq":
            let wanted = try operand(raw, key, evaluator)
            return { PlainValue.equals($0, wanted) }
        case "$ne":
            let unwanted = try operand(raw, key, evaluator)
            return { !PlainValue.equals($0, unwanted) }
        case "$in":
            let wanted = try list(raw, key, evaluator)
            return { value in wanted.contains { PlainValue.equals(value, $0) } }
        case "$nin":
            let unwanted = try list(raw, key, evaluator)
            return { value in !unwanted.contains { PlainValue.equals(value, $0) } }
        case "$lt", "$lte", "$gt", "$gte":
            return try comparison(name, try time(raw, key, evaluator) ?? operand(raw, key, evaluator))
        case "$exists":
            guard let isWanted = raw.boolValue else { throw Evaluator.Refused.json }
            return { ($0 != nil) == isWanted }
        case "$all": return try all(raw, key, evaluator)
        case "$containedBy":
            let allowed = try list(raw, key, evaluator)
            return { value in
                value?.arrayValue?.allSatisfy { element in allowed.contains { PlainValue.isSame(element, $0) } }
                    ?? false
            }
        case "$regex": return try pattern(raw, siblings["$options"])
        case "$options":
            guard siblings["$regex"] != nil else { throw Evaluator.Refused.query }
            return { _ in true }
        case "$nearSphere", "$within", "$geoWithin", "$geoIntersects":
            let area = try Area(name, raw, siblings, isTop: isTop)
            return { value in value.map(area.contains) ?? false }
        case _ where name.hasPrefix("$maxDistance"):
            guard siblings["$nearSphere"] != nil else { throw Evaluator.Refused.query }
            return { _ in true }
        default: throw Evaluator.Refused.json
        }
    }

    // MARK: Operands

    /// A string may stand for a pointer's id, and for `createdAt` or `updatedAt`.
    private static func operand(_ raw: JSON, _ key: String, _ evaluator: Evaluator) throws -> JSON {
        if let text = raw.stringValue {
            if evaluator.kind(of: key) == .pointer { return .pointer(evaluator.target, text) }
            if key == "createdAt" || key == "updatedAt" {
                return (try? PlainValue.stored(PlainValue.date(text))) ?? raw
            }
        }
        return try PlainValue.stored(raw)
    }

    private static func list(_ raw: JSON, _ key: String, _ evaluator: Evaluator) throws -> [JSON] {
        guard case .array(let values) = raw else { throw Evaluator.Refused.json }
        return try values.map { try operand($0, key, evaluator) }
    }

    /// The Date that a `$relativeTime` denotes.
    private static func time(_ raw: JSON, _ key: String, _ evaluator: Evaluator) throws -> JSON? {
        guard let relative = raw["$relativeTime"] else { return nil }
        let seconds: Double? =
            switch relative {
            case "now": 0
            case "12 days ago": -12 * 86400
            case "in 1 year 2 hours": 365 * 86400 + 7200
            default: nil
            }
        let kind = evaluator.kind(of: key)
        guard let seconds, kind == .date || kind == nil else { throw Evaluator.Refused.json }
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return PlainValue.date(Date(timeIntervalSinceNow: seconds).formatted(style))
    }

    // MARK: Constraints

    private static func comparison(_ name: String, _ operand: JSON) throws -> Test {
        { value in
            PlainValue.matches(value) { value in
                guard let isLess = PlainValue.isLess(value, operand), let isGreater = PlainValue.isLess(operand, value)
                else {
                    return false
                }
                switch name {
                case "$lt": return isLess
                case "$lte": return !isGreater
                case "$gt": return isGreater
                default: return !isLess
                }
            }
        }
    }

    /// All values, or matches of all patterns, must be present. An empty list matches nothing.
    private static func all(_ raw: JSON, _ key: String, _ evaluator: Evaluator) throws -> Test {
        guard case .array(let items) = raw else { throw Evaluator.Refused.json }
        let patterns = items.filter { $0["$regex"] != nil }
        guard patterns.isEmpty || patterns.count == items.count else { throw Evaluator.Refused.json }
        let tests =
            try patterns.isEmpty
            ? list(raw, key, evaluator).map { wanted -> Test in { PlainValue.equals($0, wanted) } }
            : patterns.map { try pattern($0["$regex"] ?? .null, $0["$options"]) }
        return { value in !tests.isEmpty && tests.allSatisfy { $0(value) } }
    }

    private static func pattern(_ raw: JSON, _ options: JSON?) throws -> Test {
        guard let text = raw.stringValue else { throw Evaluator.Refused.json }
        guard let options = (options ?? "").stringValue else {
            throw Evaluator.Refused.query
        }
        var flags: NSRegularExpression.Options = []
        for option in options {
            switch option {
            case "i": flags.insert(.caseInsensitive)
            case "m": flags.insert(.anchorsMatchLines)
            case "s": flags.insert(.dotMatchesLineSeparators)
            default: throw Evaluator.Refused.query
            }
        }
        guard let expression = try? NSRegularExpression(pattern: text, options: flags) else {
            throw Evaluator.Refused.query
        }
        return { value in
            PlainValue.matches(value) { value in
                guard let text = value.stringValue else { return false }
                return expression.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
            }
        }
    }
}
