import ParseProtocol

/// When two stored values are the same, and which of two comes first, as SQLite finds it.
enum LiveValue {
    static func date(_ iso: String) -> JSON { ["__type": "Date", "iso": .string(iso)] }

    /// Numbers by their value, texts by their bytes, everything else by what it consists of.
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

    /// Negative when `a` comes first; nil when they are not of one type, or of a type without an order.
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

    /// The value, or an element of an array, meets a test.
    static func matches(_ value: JSON?, _ test: (JSON) -> Bool) -> Bool {
        guard let value else { return false }
        if test(value) { return true }
        if case .array(let elements) = value { return elements.contains(where: test) }
        return false
    }

    /// Null stands for a missing value, too.
    static func equals(_ value: JSON?, _ wanted: JSON) -> Bool { matches(value ?? .null) { isSame($0, wanted) } }
}

/// The values of a list, found by a hash.
struct LiveList {
    private let values: Set<JSON>
    private let all: [JSON]
    let hasNull: Bool

    init(_ values: [JSON]) {
        all = values
        self.values = Set(values)
        hasNull = values.contains(.null)
    }

    /// Swift takes two texts for the same that differ in bytes; so a hit is looked at again. Stored numbers have one
    /// form each.
    func contains(_ value: JSON) -> Bool {
        guard values.contains(value) else { return false }
        switch value {
        case .null, .bool, .int, .double: return true
        case .string, .array, .object: return all.contains { LiveValue.isSame(value, $0) }
        }
    }
}
