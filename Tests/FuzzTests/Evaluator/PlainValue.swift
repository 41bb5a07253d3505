import ParseProtocol

/// Values of the protocol: when two are the same, and which of two is less.
enum PlainValue {
    static func date(_ iso: String) -> JSON { ["__type": "Date", "iso": .string(iso)] }

    /// A value of a query in the form in which documents have it.
    /// - Throws: `Refused` for a malformed hash.
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

    /// `2022-01-01T12:23:45Z` and fewer than three decimals are as good as three.
    private static func fullISO(_ iso: String) throws -> String {
        let parts = iso.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard iso.hasSuffix("Z"), parts[0].count == 19, parts.count <= 2 else { throw Evaluator.Refused.type }
        let decimals = parts.count == 2 ? String(parts[1]) : ""
        return parts[0] + "." + decimals + String(repeating: "0", count: max(0, 3 - decimals.count)) + "Z"
    }

    /// Numbers by their value, texts by their bytes, everything else by what it consists of.
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

    /// Whether `a` is less than `b`; nil when they are not of one type, or of a type without an order.
    static func isLess(_ a: JSON, _ b: JSON) -> Bool? {
        switch (a, b) {
        case (.int, .int), (.int, .double), (.double, .int), (.double, .double):
            (a.doubleValue ?? 0) < (b.doubleValue ?? 0)
        case (.bool(let a), .bool(let b)): !a && b
        case (.string(let a), .string(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.object, .object) where a.wireType == "Date" && b.wireType == "Date":
            // Of years with four digits the texts are in the order of the times.
            (a["iso"]?.stringValue ?? "") < (b["iso"]?.stringValue ?? "")
        default: nil
        }
    }

    /// On an array a value is the whole, or one of the elements.
    static func matches(_ value: JSON?, _ test: (JSON) -> Bool) -> Bool {
        guard let value else { return false }
        if test(value) { return true }
        return value.arrayValue?.contains(where: test) ?? false
    }

    /// Null stands for a missing value, too.
    static func equals(_ value: JSON?, _ wanted: JSON) -> Bool {
        matches(value ?? .null) { isSame($0, wanted) }
    }
}
