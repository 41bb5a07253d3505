import ParseProtocol

/// Translates the first `$match` of a pipeline to a query's `where`, for the compiler of finds.
///
/// Field names become Parse's, and texts `Class$id` become Pointers. Texts that are compared with dates become Dates,
/// because clients send the dates of a pipeline as plain texts.
struct StoredCondition {
    let info: ClassInfo

    /// - Throws: `.invalidQuery` (102) when it is not an object, `.invalidKeyName` (105) for an invalid name.
    func condition(_ json: JSON) throws -> JSON {
        guard case .object(let members) = json else { throw ParseError(.invalidQuery, "$match needs an object.") }
        var result: [String: JSON] = [:]
        for (name, value) in members {
            if name.hasPrefix("$") {
                // Only these operators contain conditions; the compiler validates all others.
                guard ["$and", "$or", "$nor"].contains(name), case .array(let clauses) = value else {
                    result[name] = value
                    continue
                }
                result[name] = .array(try clauses.map(condition))
                continue
            }
            let path = try AggregatePath(name)
            let stored = ([path.storedRoot] + path.components.dropFirst()).joined(separator: ".")
            guard result.updateValue(operand(value, path), forKey: stored) == nil else {
                throw ParseError(.invalidQuery, "The field \(stored.prefix(200)) is named twice.")
            }
        }
        return .object(result)
    }

    private func operand(_ value: JSON, _ path: AggregatePath) -> JSON {
        if case .object(let members) = value, members["__type"] == nil,
            members.keys.contains(where: { $0.hasPrefix("$") })
        {
            if let date = members["$date"]?.stringValue.flatMap(Timestamp.init(iso:)), members.count == 1 {
                return date.wire
            }
            return .object(members.mapValues { operand($0, path) })
        }
        if case .array(let elements) = value { return .array(elements.map { operand($0, path) }) }
        guard case .string(let text) = value else { return value }
        if path.isPointerText, let separator = text.firstIndex(of: "$") {
            return .pointer(String(text[..<separator]), String(text[text.index(after: separator)...]))
        }
        let isDate =
            path.components == ["createdAt"] || path.components == ["updatedAt"]
            || !path.isDotted && info.fields[path.root] == .date
        return isDate ? Timestamp(iso: text)?.wire ?? value : value
    }
}
