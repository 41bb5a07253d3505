import ParseProtocol

/// The sort terms of a query's rows. Equal rows come in order of creation.
struct QueryOrder {
    struct Term {
        /// SQL of the value. Missing values come first, in a descending order last.
        let value: String
        /// The type of the value, for engines with typed parameters.
        let operand: Dialect.Operand
        let isDescending: Bool
        let dialect: Dialect

        var sql: String { dialect.sorted(by: value, isDescending: isDescending, isNeverMissing: isNeverMissing) }
    }

    private(set) var terms: [Term] = []
    /// One of the terms is the rank of a `$text` search.
    private(set) var hasRank = false

    static let keysMax = 16
    /// MongoDB's name for the order of creation, which is always the last sort term. This order needs no index in
    /// either direction.
    private static let natural = "$natural"
    /// MongoDB's names of two fields, which old apps sort by.
    private static let columns = ["_created_at": "createdAt", "_updated_at": "updatedAt"]

    /// - Parameter isComplete: adds a term even for a field that the class does not have (yet).
    /// - Throws: `.invalidQuery` (102), `.invalidKeyName` (105) or `.operationForbidden` (119).
    init(_ keys: [String], isRanked: Bool, isComplete: Bool, _ compiler: inout ConditionCompiler) throws {
        guard keys.count <= QueryOrder.keysMax else {
            throw ParseError(.invalidQuery, "A query may be ordered by at most \(QueryOrder.keysMax) keys.")
        }
        let dialect = compiler.info.dialect
        for (number, key) in keys.enumerated() {
            let isDescending = key.hasPrefix("-")
            let given = isDescending || key.hasPrefix("+") ? String(key.dropFirst()) : key
            let name = QueryOrder.columns[given] ?? given
            if name == "$score" {
                // The best first, regardless of the sign, as in Parse Server.
                if isRanked, let score = compiler.textScore {
                    terms.append(Term(value: score, operand: .real, isDescending: true, dialect: dialect))
                }
                hasRank = true
                continue
            }
            if name == QueryOrder.natural {
                // The sign of the last key determines the direction (`CompiledQuery`).
                guard number == keys.count - 1 else {
                    throw ParseError(.invalidQuery, "$natural must be the last key of an order.")
                }
                continue
            }
            if name == "ACL" { throw ParseError(.invalidQuery, "Cannot order by ACL.") }
            guard let path = try? compiler.path(name) else {
                throw ParseError(.invalidKeyName, "Invalid field name: \(name.prefix(200)).")
            }
            // The statement that finds the position uses the first argument's parameter number for the object's id.
            guard !isComplete || !path.isBound else {
                throw ParseError(.invalidQuery, "after is not possible in an order by \(name.prefix(200)).")
            }
            let place = try compiler.place(of: path)
            if let (value, operand) = QueryOrder.value(place) {
                terms.append(Term(value: value, operand: operand, isDescending: isDescending, dialect: dialect))
            } else if isComplete {
                terms.append(
                    Term(value: dialect.missing, operand: .json, isDescending: isDescending, dialect: dialect))
            }
        }
    }

    /// The first name of an order that neither the class nor the protocol has; nil when there is none.
    static func unknownField(in keys: [String], of info: ClassInfo) -> String? {
        let names = keys.map { $0.hasPrefix("-") || $0.hasPrefix("+") ? String($0.dropFirst()) : $0 }
        return names.first { name in
            guard columns[name] == nil, !name.hasPrefix("$"), name != "ACL" else { return false }
            let root = String(name.prefix { $0 != "." })
            return BuiltInField(rawValue: root) == nil && info.fields[root] == nil
        }
    }

    private static func value(_ place: FieldPlace) -> (sql: String, operand: Dialect.Operand)? {
        let path = place.path
        if !path.isDotted, place.info != nil, let column = BuiltInField(rawValue: path.root) {
            return ("\(place.row).\(path.root)", column == .objectId ? .text : .integer)
        }
        guard let info = place.info, let type = info.fields[path.root] else { return nil }
        // All objects of a class have the same value in a relation field.
        if case .relation = type { return nil }
        let document = "\(place.row).doc"
        guard !path.isDotted, type != .numberOrText else {
            return (info.dialect.order(ofMixed: path, in: document), .json)
        }
        if type.isStructure { return (info.dialect.order(ofStructure: path, in: document), .text) }
        return (info.dialect.value(path, of: type, in: document), type.comparedKind.operand)
    }
}
