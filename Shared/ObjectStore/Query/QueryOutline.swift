import ParseProtocol

/// Queries without values, for logs.
extension Query {
    /// The query with the names of its fields and operators, and `?` instead of every value:
    /// `{"limit":100,"order":["name"],"where":{"price":{"$gt":"?"}}}`.
    public var outline: JSON {
        let condition: JSON? =
            switch self.condition {
            case .text(let text): try? JSON(parsing: text.isEmpty ? Array("{}".utf8) : text)
            case .value(let value): value
            }
        return [
            "where": condition.map(Self.outline) ?? "?", "order": .array(order.map { .string(Self.name($0)) }),
            "limit": .int(Int64(limit)), "skip": .int(Int64(skip)), "count": .bool(wantsCount),
        ]
    }

    private static func outline(_ condition: JSON) -> JSON {
        guard case .object(let members) = condition else { return "?" }
        var outline: [String: JSON] = [:]
        for (key, value) in members {
            switch value {
            case .array(let parts) where ["$or", "$and", "$nor"].contains(key):
                outline[key] = .array(parts.map(Self.outline))
            // Operators; any other object is a value.
            case .object(let operators) where !operators.isEmpty && operators.keys.allSatisfy({ $0.hasPrefix("$") }):
                outline[name(key)] = .object(
                    operators.reduce(into: [:]) { $0[name($1.key)] = $1.key == "$not" ? Self.outline($1.value) : "?" })
            default: outline[name(key)] = "?"
            }
        }
        return .object(outline)
    }

    /// The name of a field or an operator. A dotted name continues with keys of objects, which are data.
    private static func name(_ key: String) -> String {
        let parts = key.split(separator: ".", maxSplits: 1)
        guard let first = parts.first, first.utf8.count <= 128,
            first.wholeMatch(of: #/[-$]?[A-Za-z_][A-Za-z0-9_]*/#) != nil
        else { return "?" }
        return parts.count == 1 ? String(first) : "\(first).?"
    }
}

extension ObjectReader {
    /// A query's plan in one line, without values. PostgreSQL prints values in the conditions of its steps, so that
    /// only the steps are in it.
    public func planWithoutValues(_ query: Query, caller: Caller) throws -> String {
        let lines = try plan(query, caller: caller).split(separator: "\n")
        guard connection.dialect != .sqlite else { return lines.joined(separator: "; ") }
        let steps = lines.enumerated().compactMap { number, line -> Substring? in
            let text = line.drop(while: { $0 == " " })
            guard number == 0 || text.hasPrefix("->") else { return nil }
            let step = text.drop(while: { "-> ".contains($0) })
            return step.firstRange(of: "  (").map { step[..<$0.lowerBound] } ?? step
        }
        return steps.joined(separator: "; ")
    }
}
