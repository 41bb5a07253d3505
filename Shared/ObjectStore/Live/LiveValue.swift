import ParseProtocol

/// Equality and order of stored values, with SQLite's results.
enum LiveValue {
    static func date(_ iso: String) -> JSON { ["__type": "Date", "iso": .string(iso)] }

    /// Compares numbers by value, texts by bytes, everything else by its parts.
    static func isSame(_ a: JSON, _ b: JSON) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.int, .double), (.double, .int), (.double, .double): a.doubleValue == b.doubleValue
        case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy(isSame)
        case (.object(let a), .object(let b)):
            a.count == b.count && a.allSatisfy { key, value in b[key].map { isSame(value, $0) } ?? false }
        default: false
        }
    }

    /// Negative when `a` comes first; nil when the types differ or have no order.
    static func order(_ a: JSON, _ b: JSON) -> Int? {
        switch (a, b) {
        case (.int(let a), .int(let b)): sign(a < b, b < a)
        case (.int, .double), (.double, .int), (.double, .double):
            sign((a.doubleValue ?? 0) < (b.doubleValue ?? 0), (b.doubleValue ?? 0) < (a.doubleValue ?? 0))
        case (.bool(let a), .bool(let b)): sign(!a && b, a && !b)
        case (.string(let a), .string(let b)):
            sign(a.utf8.lexicographicallyPrecedes(b.utf8), b.utf8.lexicographicallyPrecedes(a.utf8))
        case (.object, .object) where a.wireType == "Date" && b.wireType == "Date":
            order(a["iso"] ?? .null, b["iso"] ?? .null)
        default: nil
        }
    }

    private static func sign(_ isLess: Bool, _ isGreater: Bool) -> Int { isLess ? -1 : isGreater ? 1 : 0 }

    /// Whether the value, or an element of an array, passes a test.
    static func matches(_ value: JSON?, _ effort: MatchBudget, _ test: (JSON) -> Bool) -> Bool {
        guard let value else { return false }
        if test(value) { return true }
        guard case .array(let elements) = value else { return false }
        return elements.contains { effort.spend(1) && test($0) }
    }

    /// Null equals a missing value, too.
    static func equals(_ value: JSON?, _ wanted: JSON, _ effort: MatchBudget) -> Bool {
        matches(value ?? .null, effort) { isSame($0, wanted) }
    }
}

/// The values of a list, looked up by hash.
struct LiveList {
    private let values: Set<JSON>
    /// Values that Swift considers equal to a value of the set although their bytes differ.
    private let twins: [JSON: [JSON]]
    let hasNull: Bool

    init(_ list: [JSON]) {
        var (values, twins): (Set<JSON>, [JSON: [JSON]]) = ([], [:])
        for value in list {
            let (isNew, known) = values.insert(value)
            if !isNew, !LiveValue.isSame(known, value) { twins[value, default: []].append(value) }
        }
        (self.values, self.twins) = (values, twins)
        hasNull = values.contains(.null)
    }

    /// Swift considers some texts equal whose bytes differ, so a hit is compared again. Stored numbers have one form
    /// each.
    func contains(_ value: JSON) -> Bool {
        guard let index = values.firstIndex(of: value) else { return false }
        switch value {
        case .null, .bool, .int, .double: return true
        case .string, .array, .object:
            return LiveValue.isSame(values[index], value)
                || twins[value]?.contains { LiveValue.isSame($0, value) } ?? false
        }
    }
}
