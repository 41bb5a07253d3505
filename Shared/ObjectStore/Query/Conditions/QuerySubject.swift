import ParseProtocol

/// The subject of a constraint: one field, and how its stored value is compared.
struct QuerySubject {
    enum Kind: Equatable {
        /// `objectId`, and String fields.
        case text
        case number
        case boolean
        case date
        /// `createdAt` and `updatedAt`: milliseconds in a column.
        case instant
        case pointer(String)
        case file
        case bytes
        /// Objects, points and polygons: compared as canonical JSON text.
        case json(FieldType)
        case array
        case relation(String)
        /// Members of the objects in an array, by their path within an element.
        case elements(FieldPath)
        /// Inside an Object, or in an array element given by its index: the type is checked row by row.
        case untyped
        /// The class does not have the field.
        case absent
    }

    let path: FieldPath
    let kind: Kind
    /// SQL of the compared value.
    let value: String
    /// True for the columns of the queried object, which are never missing.
    let isColumn: Bool
    let info: ClassInfo
    /// The name of the object's row in SQL.
    let row: String
    /// The document in which the path starts.
    let document: String

    private init(_ kind: Kind, _ path: FieldPath, _ info: ClassInfo, value: String, row: String, document: String) {
        self.kind = kind
        self.path = path
        self.info = info
        self.value = value
        self.row = row
        self.document = document
        isColumn = false
    }

    /// A value inside a document, whose type is checked row by row.
    init(untyped path: FieldPath, _ info: ClassInfo, document: String) {
        self.init(
            .untyped, path, info, value: info.dialect.value(path, as: .json, in: document), row: "o",
            document: document)
    }

    /// - Parameter info: the queried class, used when a pointer leads to a class that does not exist.
    init(_ place: FieldPlace, in info: ClassInfo) {
        if let target = place.info {
            self.init(place.path, target, row: place.row)
        } else {
            self.init(.absent, place.path, info, value: "NULL", row: place.row, document: "NULL")
        }
    }

    init(_ path: FieldPath, _ info: ClassInfo, row: String = "o") {
        self.info = info
        self.row = row
        document = "\(row).doc"
        if !path.isDotted, let column = BuiltInField(rawValue: path.root) {
            kind = column == .objectId ? .text : .instant
            value = "\(row).\(column.rawValue)"
            isColumn = row == "o"
            self.path = path
            return
        }
        isColumn = false
        let type = info.fields[path.root]
        if path.isDotted {
            if type == .array, !path.beginsWithIndex {
                kind = .elements(path.rest)
                value = info.dialect.value(path.first, as: .json, in: document)
                self.path = path.first
                return
            }
            kind = type == nil ? .absent : .untyped
            value = info.dialect.value(path, as: .json, in: document)
            self.path = path
            return
        }
        self.path = path
        value = info.dialect.value(path, of: type, in: document)
        kind =
            switch type {
            case .string: .text
            case .number: .number
            case .boolean: .boolean
            case .date: .date
            case .pointer(let target): .pointer(target)
            case .file: .file
            case .bytes: .bytes
            case .numberOrText: .untyped
            case .object, .geoPoint, .polygon: .json(type ?? .object)
            case .array: .array
            case .relation(let target): .relation(target)
            case nil: .absent
            }
    }

    /// A query's value in the form in which this field is compared.
    enum Operand: Equatable {
        case null
        /// The value has another type than the field.
        case never
        case value(SQLValue)

        var isNull: Bool { self == .null }
    }

    /// - Throws: `ParseError` for a malformed typed value.
    func operand(_ raw: JSON) throws -> Operand {
        // A text with U+0000 is never stored, so it matches nothing.
        if case .string(let text) = raw, text.utf8.contains(0) { return .never }
        if kind == .instant, case .string(let iso) = raw {
            return Timestamp(iso: iso).map { .value(.int($0.milliseconds)) } ?? .never
        }
        let wire = try WireValue.normalized(raw)
        switch (kind, wire) {
        case (_, .null): return .null
        case (.text, .string(let text)): return .value(.text(text))
        case (.number, .int(let number)): return .value(.int(number))
        case (.number, .double(let number)): return .value(.real(number))
        case (.boolean, .bool(let flag)): return .value(.int(flag ? 1 : 0))
        case (.pointer, .string(let id)): return .value(.text(id))
        case (.date, .object), (.instant, .object):
            guard wire.wireType == "Date", let iso = wire["iso"]?.stringValue else { return .never }
            if kind == .date { return .value(.text(iso)) }
            return Timestamp(iso: iso).map { .value(.int($0.milliseconds)) } ?? .never
        case (.pointer(let target), .object), (.relation(let target), .object):
            guard let pointer = wire.pointerTarget, pointer.className == target else { return .never }
            return .value(.text(pointer.objectId))
        case (.file, .object):
            guard wire.wireType == "File", let name = wire["name"]?.stringValue else { return .never }
            return .value(.text(name))
        case (.bytes, .object):
            guard wire.wireType == "Bytes", let text = wire["base64"]?.stringValue else { return .never }
            return .value(.text(text))
        case (.json(let type), .object):
            return FieldType(of: wire) == type ? .value(.text(wire.serializedText)) : .never
        default: return .never
        }
    }
}

// MARK: - Equality

extension QuerySubject {
    func equals(_ raw: JSON, _ compiler: inout ConditionCompiler) throws -> String {
        switch kind {
        case .elements: return try memberEquals(raw, &compiler)
        case .array, .untyped: return try isIn([raw], &compiler)
        case .relation: return try related([raw], &compiler)
        default:
            switch try operand(raw) {
            case .null: return kind == .absent ? "TRUE" : "\(value) IS NULL"
            case .never: return "FALSE"
            case .value(let bound): return "\(value)=\(compiler.bind(bound, as: operandType))"
            }
        }
    }

    /// The type as which a query's value is bound for comparison with this field.
    var operandType: Dialect.Operand {
        switch kind {
        case .instant: .integer
        case .number: .number
        case .boolean: .flag
        case .json: .json
        default: .text
        }
    }

    func differs(from raw: JSON, _ compiler: inout ConditionCompiler) throws -> String {
        switch kind {
        case .array, .untyped, .relation: return "(\(try equals(raw, &compiler))) IS NOT TRUE"
        default:
            switch try operand(raw) {
            case .null: return kind == .absent ? "FALSE" : "\(value) IS NOT NULL"
            case .never: return "TRUE"
            case .value(let bound):
                return info.dialect.differ(value, compiler.bind(bound, as: operandType))
            }
        }
    }

    func isIn(_ list: [JSON], _ compiler: inout ConditionCompiler) throws -> String {
        switch kind {
        case .relation: return try related(list, &compiler)
        case .array, .untyped:
            guard !list.isEmpty else { return "FALSE" }
            if let one = try scalar(list) {
                // `@>` with a text, number or Boolean: true for an array that contains it and for an equal value.
                return "\(value) @> \(compiler.bind(.text(one.serializedText), as: .json))"
            }
            // Null matches a missing value, and also an element.
            let missing = list.contains(where: \.isNull) ? ["\(value) IS NULL"] : []
            let found = try ElementMatch(list, &compiler).anywhere(in: self)
            return ConditionCompiler.joined(missing + [found], " OR ")
        default:
            let operands = try list.map(operand)
            let values = operands.compactMap { if case .value(let value) = $0 { value } else { nil } }
            let hasNull = operands.contains(where: \.isNull)
            if kind == .absent { return hasNull ? "TRUE" : "FALSE" }
            var parts: [String] = []
            if values.count == 1 {
                parts.append("\(value)=\(compiler.bind(values[0], as: operandType))")
            } else if !values.isEmpty {
                parts.append(value + compiler.isIn(values.map(listed), as: operandType))
            }
            if hasNull { parts.append("\(value) IS NULL") }
            return parts.isEmpty ? "FALSE" : ConditionCompiler.joined(parts, " OR ")
        }
    }

    /// The single value of a list in PostgreSQL, unless it is null, an array or an object.
    private func scalar(_ list: [JSON]) throws -> JSON? {
        guard info.dialect != .sqlite, list.count == 1 else { return nil }
        if case .string(let text) = list[0], text.utf8.contains(0) { return nil }
        switch try WireValue.normalized(list[0]) {
        case let value where value.isNull: return nil
        case .array, .object: return nil
        case let value: return value
        }
    }

    /// The owners whose relation has one of these members.
    private func related(_ list: [JSON], _ compiler: inout ConditionCompiler) throws -> String {
        let ids = try list.map(operand).compactMap { operand -> JSON? in
            if case .value(let id) = operand { id.json } else { nil }
        }
        if ids.isEmpty { return "FALSE" }
        return """
            \(row).objectId IN (SELECT owner FROM relations WHERE class=\(info.id) \
            AND key=\(compiler.bind(.text(path.root))) AND target\(compiler.isIn(ids, as: .text)))
            """
    }
}

extension QuerySubject {
    /// A value in a list, in the form of the engine's documents.
    private func listed(_ value: SQLValue) -> JSON {
        if info.dialect == .sqlite { return value.json }
        switch (kind, value) {
        case (.boolean, .int(let flag)): return .bool(flag != 0)
        case (.json, .text(let text)): return (try? JSON(parsing: text)) ?? .null
        default: return value.json
        }
    }
}

extension SQLValue {
    fileprivate var json: JSON {
        switch self {
        case .int(let value): .int(value)
        case .real(let value): .double(value)
        case .text(let value): .string(value)
        case .null, .blob: .null
        }
    }
}
