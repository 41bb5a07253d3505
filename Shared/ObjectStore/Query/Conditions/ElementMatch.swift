import ParseProtocol

/// Compares a value whose type differs by row (an element of an array, a member of an Object) with a list.
struct ElementMatch {
    private var numbers: [JSON] = []
    private var texts: [JSON] = []
    /// Arrays, objects and typed values as canonical text, the form in which they are stored.
    private var structures: [JSON] = []
    private var flags: [String] = []
    private var hasNull = false
    /// One of the values is an array, which can match an element or the whole Array field.
    private var hasArray = false
    /// The comparison for each kind of value. PostgreSQL compares values of all kinds directly.
    private let bound: [(kind: Dialect.JSONKind?, comparison: String)]
    private let dialect: Dialect

    init(_ values: [JSON], _ compiler: inout ConditionCompiler) throws {
        dialect = compiler.info.dialect
        var all: [JSON] = []
        for value in values {
            if case .string(let text) = value, text.utf8.contains(0) { continue }
            let value = try WireValue.normalized(value)
            all.append(value)
            switch value {
            case .null: hasNull = true
            case .bool(let flag): flags.append(flag ? "'true'" : "'false'")
            case .int(let number): numbers.append(.int(number))
            case .double(let number): numbers.append(.double(number))
            case .string: texts.append(value)
            case let structure:
                if case .array = structure { hasArray = true }
                structures.append(.string(structure.serializedText))
            }
        }
        if dialect != .sqlite {
            bound = all.isEmpty ? [] : [(nil, compiler.isIn(all, as: .json))]
            return
        }
        var bound: [(Dialect.JSONKind?, String)] = []
        for (list, types) in [
            (numbers, Dialect.JSONKind.number), (texts, .text), (structures, .structure),
        ] where !list.isEmpty {
            bound.append((types, try ElementMatch.comparison(list, &compiler)))
        }
        self.bound = bound
    }

    private static func comparison(_ list: [JSON], _ compiler: inout ConditionCompiler) throws -> String {
        guard list.count == 1 else { return compiler.isIn(list, as: .json) }
        switch list[0] {
        case .int(let number): return "=" + compiler.bind(.int(number))
        case .double(let number): return "=" + compiler.bind(.real(number))
        case let text: return "=" + compiler.bind(.text(text.stringValue ?? ""))
        }
    }

    /// The condition on a value and its JSON type.
    func condition(type: String, value: String) -> String {
        var parts = bound.map { bound in
            bound.kind.map { "(\(dialect.isType(type, $0)) AND \(value)\(bound.comparison))" } ?? value
                + bound.comparison
        }
        if dialect != .sqlite { return parts.first ?? "FALSE" }
        let constants = Set(flags).sorted() + (hasNull ? ["'null'"] : [])
        if !constants.isEmpty { parts.append("\(type) IN (\(constants.joined(separator: ",")))") }
        return parts.isEmpty ? "FALSE" : "(" + parts.joined(separator: " OR ") + ")"
    }

    /// True when an element of the field's array matches, or the field itself.
    func anywhere(in subject: QuerySubject) -> String {
        let elements = subject.anyElement(condition(type: dialect.elementType("e"), value: "e.value"))
        guard subject.kind == .untyped || hasArray else { return elements }
        let type = subject.type
        return "(\(condition(type: type, value: subject.value)) OR (\(type)='array' AND \(elements)))"
    }
}

extension QuerySubject {
    /// The JSON type of the stored value; `NULL` when it is missing.
    var type: String { info.dialect.type(path, in: document) }

    /// True when the condition on `e` holds for an element of the field's array.
    func anyElement(_ condition: String) -> String {
        "EXISTS(SELECT 1 FROM \(info.dialect.elements(of: path, in: document, as: "e")) WHERE \(condition))"
    }
}
