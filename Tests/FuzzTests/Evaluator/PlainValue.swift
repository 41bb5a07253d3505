import ParseProtocol

/// Equality and order of the protocol's values.
enum PlainValue {
    static func date(_ iso: String) -> JSON { ["__type": "Date", "iso": .string(iso)] }

    /// A query's value in the form that documents store.
    /// - Throws: `Refused` for a malformed typed value.
    static func stored(_ value: JSON) throws -> JSON {
        switch value {
        case .array(let elements): return .array(try elements.map(stored))
        case .object(let members):
            switch members["__type"] {
            case nil: return .object(try members.mapValues(stored))
            case "Date": return date(try fullISO(value["iso"]?.stringValue ?? ""))
            case "Pointer", "Object":
                guard let className = value["className"]?.stringValue, let id = value["objectId"]?.stringValue else {
                    throw Evaluator.Refused.type
                }
                return .pointer(className, id)
            case "File": return ["__type": "File", "name": value["name"] ?? .null]
            case "GeoPoint":
                guard let point = Place(value) else { throw Evaluator.Refused.type }
                return [
                    "__type": "GeoPoint", "latitude": JSON(number: point.latitude),
                    "longitude": JSON(number: point.longitude),
                ]
            case "Bytes", "Polygon": return value
            default: throw Evaluator.Refused.type
            }
        default: return value
        }
    }

    /// Accepts `2022-01-01T12:23:45Z`, and fewer than three decimals.
    private static func fullISO(_ iso: String) throws -> String {
        let parts = iso.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard iso.hasSuffix("Z"), parts[0].count == 19, parts.count <= 2 else { throw Evaluator.Refused.type }
        let decimals = parts.count == 2 ? String(parts[1]) : ""
        return parts[0] + "." + decimals + String(repeating: "0", count: max(0, 3 - decimals.count)) + "Z"
    }

    /// Compares numbers by value, strings by bytes, and other values by their parts.
    static func isSame(_ a: JSON, _ b: JSON) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int, .int), (.int, .double), (.double, .int), (.double, .double): a.doubleValue == b.doubleValue
        case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy(isSame)
        case (.object(let a), .object(let b)):
            a.count == b.count && a.allSatisfy { key, value in b[key].map { isSame(value, $0) } ?? false }
        default: false
        }
    }

    /// Whether `a` is less than `b`; nil for different types and for types without an order.
    static func isLess(_ a: JSON, _ b: JSON) -> Bool? {
        switch (a, b) {
        case (.int, .int), (.int, .double), (.double, .int), (.double, .double):
            (a.doubleValue ?? 0) < (b.doubleValue ?? 0)
        case (.bool(let a), .bool(let b)): !a && b
        case (.string(let a), .string(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.object, .object) where a.wireType == "Date" && b.wireType == "Date":
            // For years with four digits, strings and times have the same order.
            (a["iso"]?.stringValue ?? "") < (b["iso"]?.stringValue ?? "")
        default: nil
        }
    }

    /// On an array, a test may match the whole array or one of its elements.
    static func matches(_ value: JSON?, _ test: (JSON) -> Bool) -> Bool {
        guard let value else { return false }
        if test(value) { return true }
        return value.arrayValue?.contains(where: test) ?? false
    }

    /// Null also matches a missing value.
    static func equals(_ value: JSON?, _ wanted: JSON) -> Bool {
        matches(value ?? .null) { isSame($0, wanted) }
    }
}
