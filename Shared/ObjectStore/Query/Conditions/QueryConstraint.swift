import ParseProtocol

extension QuerySubject {
    /// Compiles one `$…` member of a constraint; nil for a member that only modifies another.
    /// - Throws: `.invalidQuery` (102) or `.invalidJSON` (107) for a malformed or unknown constraint,
    ///   `.commandUnavailable` (108) for an unsupported one.
    func constraint(
        _ name: String, _ raw: JSON, siblings: [String: JSON], _ compiler: inout ConditionCompiler
    ) throws -> String? {
        if case .elements = kind { return try memberConstraint(name, raw, siblings: siblings, &compiler) }
        switch name {
        case "$lt", "$lte", "$gt", "$gte": return try compare(name, raw, &compiler)
        case _ where raw["$relativeTime"] != nil:
            throw ParseError(
                .invalidJSON, "$relativeTime can only be used with the $lt, $lte, $gt, and $gte operators")
        case "$eq": return try equals(raw, &compiler)
        case "$ne": return try differs(from: raw, &compiler)
        case "$in": return try isIn(list(name, raw), &compiler)
        case "$nin": return "(\(try isIn(list(name, raw), &compiler))) IS NOT TRUE"
        case "$all": return try all(list(name, raw), &compiler)
        case "$containedBy":
            guard raw.arrayValue != nil else { throw ParseError(.invalidJSON, "bad $containedBy: should be an array") }
            return try containedBy(list(name, raw), &compiler)
        case "$exists": return try exists(raw)
        case "$regex":
            guard case .string(let pattern) = raw else { throw QuerySubject.badPattern(raw) }
            let options = siblings["$options"] ?? ""
            guard case .string(let options) = options else {
                throw ParseError(.invalidQuery, "Bad $options value for query: \(options.serializedText.prefix(100))")
            }
            return try matches(pattern, options, &compiler)
        case "$options":
            guard siblings["$regex"] != nil else { throw ParseError(.invalidQuery, "$options need a $regex.") }
            return nil
        case "$inQuery", "$notInQuery", "$select", "$dontSelect":
            throw ParseError(.invalidQuery, "\(name) cannot be used here.")
        case "$within", "$geoWithin", "$geoIntersects":
            return try geo(name, raw, &compiler)
        case _ where NearQuery.distanceNames.contains(name):
            guard siblings["$nearSphere"] != nil else {
                throw ParseError(.invalidQuery, "\(name) needs a $nearSphere.")
            }
            return nil
        default: throw ParseError(.invalidJSON, "bad constraint: \(name.prefix(100))")
        }
    }

    private static func badPattern(_ raw: JSON) -> ParseError {
        ParseError(.invalidJSON, "bad regex: \(raw.serializedText.prefix(100))")
    }

    func list(_ name: String, _ raw: JSON) throws -> [JSON] {
        guard case .array(let values) = raw else { throw ParseError(.invalidJSON, "bad \(name) value") }
        guard values.count <= ConditionCompiler.listMax else {
            throw ParseError(.invalidQuery, "A list in a query may have at most \(ConditionCompiler.listMax) values.")
        }
        return values
    }

    private func exists(_ raw: JSON) throws -> String {
        guard case .bool(let isWanted) = raw else { throw ParseError(.invalidJSON, "bad $exists value") }
        switch kind {
        case .absent: return isWanted ? "FALSE" : "TRUE"
        case .relation where row == "o": return isWanted ? "TRUE" : "FALSE"
        case .relation: return "\(row).objectId IS \(isWanted ? "NOT " : "")NULL"
        default:
            if isColumn { return isWanted ? "TRUE" : "FALSE" }
            return "\(type) IS \(isWanted ? "NOT " : "")NULL"
        }
    }

    // MARK: Order

    private static let signs = ["$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="]

    private func compare(_ name: String, _ raw: JSON, _ compiler: inout ConditionCompiler) throws -> String {
        let sign = Self.signs[name] ?? "="
        var raw = raw
        if let relative = raw["$relativeTime"] {
            guard case .string(let text) = relative else { throw ParseError(.invalidJSON, "bad $relativeTime value") }
            guard [.date, .instant, .absent, .untyped].contains(kind) else {
                throw ParseError(.invalidJSON, "$relativeTime can only be used with Date field")
            }
            compiler.markTimeDependent()
            raw = try RelativeTime.resolve(text, in: name, now: compiler.now).wire
        }
        switch kind {
        case .text, .number, .boolean, .date, .instant:
            guard case .value(let bound) = try operand(raw) else { return "FALSE" }
            return "\(value)\(sign)\(compiler.bind(bound, as: operandType))"
        case .array, .untyped:
            guard let comparison = try comparison(sign, raw, &compiler) else { return "FALSE" }
            let elements = anyElement(comparison(info.dialect.elementType("e"), "e.value"))
            return kind == .array ? elements : "(\(comparison(type, value)) OR (\(type)='array' AND \(elements)))"
        default:
            _ = try WireValue.normalized(raw)
            return "FALSE"
        }
    }

    /// Compares a value whose type differs by row, given as the SQL of its JSON type and of the value. Nil for a type
    /// without an order.
    private func comparison(
        _ sign: String, _ raw: JSON, _ compiler: inout ConditionCompiler
    ) throws -> ((_ type: String, _ value: String) -> String)? {
        if case .string(let text) = raw, text.utf8.contains(0) { return nil }
        let dialect = info.dialect
        let wanted: Dialect.JSONKind
        let bound: String
        switch try WireValue.normalized(raw) {
        case .int(let number): (wanted, bound) = (.number, compiler.bind(.int(number), as: .jsonInteger))
        case .double(let number): (wanted, bound) = (.number, compiler.bind(.real(number)))
        case .string(let text): (wanted, bound) = (.text, compiler.bind(.text(text), as: .jsonText))
        case .bool(let flag): (wanted, bound) = (.boolean, compiler.bind(.int(flag ? 1 : 0), as: .jsonFlag))
        case let wire:
            guard wire.wireType == "Date", let iso = wire["iso"]?.stringValue else { return nil }
            let bound = compiler.bind(.text(iso), as: .text)
            return { type, value in
                """
                CASE WHEN \(type)='object' THEN \(dialect.text("__type", of: value))='Date' \
                AND \(dialect.text("iso", of: value))\(sign)\(bound) ELSE FALSE END
                """
            }
        }
        return { type, value in "(\(dialect.isType(type, wanted)) AND \(value)\(sign)\(bound))" }
    }

    // MARK: Lists

    func all(_ values: [JSON], _ compiler: inout ConditionCompiler) throws -> String {
        if values.isEmpty { return "FALSE" }
        let patterns = values.filter { $0["$regex"] != nil }
        guard patterns.isEmpty || patterns.count == values.count else {
            let list = JSON.array(values).serializedText.prefix(200)
            throw ParseError(.invalidJSON, "All $all values must be of regex type or none: \(list)")
        }
        // Each value counts as a constraint; the first one is already counted.
        for _ in values.dropFirst() { try compiler.countConstraint() }
        let parts = try values.map { value -> String in
            guard let pattern = value["$regex"] else { return try equals(value, &compiler) }
            guard case .string(let text) = pattern else { throw QuerySubject.badPattern(pattern) }
            return try matches(text, value["$options"]?.stringValue ?? "", &compiler)
        }
        return ConditionCompiler.joined(parts, " AND ")
    }

    private func containedBy(_ values: [JSON], _ compiler: inout ConditionCompiler) throws -> String {
        let match = try ElementMatch(values, &compiler)
        guard kind == .array || kind == .untyped else { return "FALSE" }
        let stranger = anyElement(
            "\(match.condition(type: info.dialect.elementType("e"), value: "e.value")) IS NOT TRUE")
        return "(\(type)='array' AND NOT \(stranger))"
    }

    // MARK: Regular expressions

    func matches(
        _ pattern: String, _ options: String, _ compiler: inout ConditionCompiler
    ) throws -> String {
        if case .elements = kind { return try memberMatches(pattern, options, &compiler) }
        try compiler.countPattern(pattern)
        let regex = try Regex(pattern: pattern, options: options)
        switch kind {
        case .text:
            let test = info.dialect.matches(compiler.bind(regex), value)
            if let field = info.textColumn(of: path.root), !path.isDotted,
                let literal = TextIndex.literal(of: pattern, options: options)
            {
                compiler.note(TextSearch(info, field: field, literal: literal), of: test)
            }
            return test
        case .array, .untyped:
            let bound = compiler.bind(regex)
            let dialect = info.dialect
            func test(_ type: String, _ value: String) -> String {
                "\(dialect.isType(type, .text)) AND \(dialect.matches(bound, dialect.text(of: value)))"
            }
            let elements = anyElement(test(dialect.elementType("e"), "e.value"))
            if kind == .array { return elements }
            return "((\(test(type, value))) OR (\(type)='array' AND \(elements)))"
        default: return "FALSE"
        }
    }
}
