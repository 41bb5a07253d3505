import ParseProtocol

/// The order of values of any type in pipelines: missing and null, numbers, texts, objects, arrays, bytes, Booleans,
/// dates (https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/). A Pointer is compared as the text
/// `Class$id`.
enum ValueOrder {
    static func isBefore(_ a: JSON?, _ b: JSON?) -> Bool { compare(a, b) < 0 }

    /// Negative when `a` comes first, 0 when both are equal, positive otherwise.
    static func compare(_ a: JSON?, _ b: JSON?) -> Int {
        let a = a ?? .null
        let b = b ?? .null
        let rank = (rank(a), self.rank(b))
        if rank.0 != rank.1 { return rank.0 - rank.1 }
        switch (a, b) {
        case (.int(let a), .int(let b)): return sign(a, b)
        case (.int, _), (.double, _): return sign(a.doubleValue ?? 0, b.doubleValue ?? 0)
        case (.bool(let a), .bool(let b)): return (a ? 1 : 0) - (b ? 1 : 0)
        case (.array(let a), .array(let b)):
            for (a, b) in zip(a, b) {
                let result = compare(a, b)
                if result != 0 { return result }
            }
            return sign(a.count, b.count)
        default: break
        }
        if let a = text(a), let b = text(b) { return compare(a, b) }
        guard case .object(let a) = a, case .object(let b) = b else { return 0 }
        for (a, b) in zip(a.sorted { $0.key < $1.key }, b.sorted { $0.key < $1.key }) {
            let result = (compare(a.key, b.key), compare(a.value, b.value))
            if result.0 != 0 { return result.0 }
            if result.1 != 0 { return result.1 }
        }
        return sign(a.count, b.count)
    }

    /// Whether two values have the same kind; else `$lt` and similar operators never hold.
    static func areComparable(_ a: JSON, _ b: JSON) -> Bool { rank(a) == rank(b) }

    /// The sort value of an array: its least element, or its greatest for a descending order. Other values sort as they
    /// are.
    static func sortValue(of value: JSON?, isDescending: Bool) -> JSON? {
        guard case .array(let elements) = value else { return value }
        return isDescending ? elements.max(by: isBefore) : elements.min(by: isBefore)
    }

    private static func rank(_ value: JSON) -> Int {
        switch value {
        case .null: return 0
        case .int, .double: return 1
        case .string: return 2
        case .array: return 4
        case .bool: return 6
        case .object:
            switch value.wireType {
            case "Pointer": return 2
            case "Bytes": return 5
            case "Date": return 7
            default: return 3
            }
        }
    }

    /// The text that a value is compared by; nil for values that are compared otherwise. Dates have such a text,
    /// because all have the same form.
    private static func text(_ value: JSON) -> String? {
        if case .string(let text) = value { return text }
        switch value.wireType {
        case "Pointer": return value.pointerTarget.map { "\($0.className)$\($0.objectId)" }
        case "Bytes": return value["base64"]?.stringValue
        case "Date": return value["iso"]?.stringValue
        default: return nil
        }
    }

    /// Compares byte by byte, as the database does.
    private static func compare(_ a: String, _ b: String) -> Int {
        if a == b { return 0 }
        return a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : 1
    }

    private static func sign<Number: Comparable>(_ a: Number, _ b: Number) -> Int { a < b ? -1 : (a > b ? 1 : 0) }
}
