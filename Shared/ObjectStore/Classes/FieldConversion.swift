import ParseProtocol

/// The conversion of a field's stored values to another type.
struct FieldConversion {
    let target: FieldType

    /// - Throws: `.incorrectType` (111) for types that have no conversion.
    init(from source: FieldType, to target: FieldType) throws {
        switch (source, target) {
        case (.relation, _), (.geoPoint, _): throw Self.impossible(source, target)
        case (_, .string), (_, .number), (_, .boolean), (_, .date), (_, .pointer), (_, .array): self.target = target
        default: throw Self.impossible(source, target)
        }
    }

    private static func impossible(_ source: FieldType, _ target: FieldType) -> ParseError {
        ParseError(.incorrectType, "Values of \(source.label) cannot be converted to \(target.label).")
    }

    /// The value in the target's type; nil when it cannot be converted.
    func converted(_ value: JSON) -> JSON? {
        if value.isNull { return .null }
        switch target {
        case .array: return value.arrayValue == nil ? [value] : value
        case .string: return text(value).map(JSON.string)
        case .number: return number(value)
        case .boolean: return flag(value)
        case .date:
            if value.wireType == "Date" { return value }
            return value.stringValue.flatMap { Timestamp(iso: $0)?.wire }
        case .pointer(let className):
            if value.pointerTarget?.className == className { return value }
            guard let id = value.stringValue, Names.isObjectId(id) else { return nil }
            return .pointer(className, id)
        default: return nil
        }
    }

    private func text(_ value: JSON) -> String? {
        switch value {
        case .string(let text): text
        case .int, .double, .bool: value.serializedText
        default: value.wireType == "Date" ? value["iso"]?.stringValue : value.pointerTarget?.objectId
        }
    }

    private func number(_ value: JSON) -> JSON? {
        switch value {
        case .int, .double: return value
        case .bool(let flag): return .int(flag ? 1 : 0)
        case .string(let text):
            guard let number = try? JSON(parsing: text), number.doubleValue != nil else { return nil }
            return number
        default: return nil
        }
    }

    private func flag(_ value: JSON) -> JSON? {
        switch value {
        case .bool: return value
        case .int(0), .string("false"), .string("0"): return false
        case .int(1), .string("true"), .string("1"): return true
        default: return nil
        }
    }
}

extension StoreTransaction {
    /// Limit of rows in one conversion: it blocks the writer.
    private static let convertedRowsMax = 100_000
    private static let convertedAtOnce = 500
    private static let examplesMax = 10

    /// Changes the type of a field and converts its values, or previews the result.
    /// - Parameters:
    ///   - wish: `field`, `type` and `targetClass` as in a schema; `apply`, false for a preview; `removeOthers`,
    ///     whether values that cannot be converted are removed.
    ///   - keeping: fields that the service's own code needs.
    /// - Returns: the types; the numbers of rows with a value, of convertible ones and of the others; and some of the
    ///   others.
    /// - Throws: `.invalidClassName` (103), `.classNotEmpty` (255) for a missing field, `.changedImmutableField` (136)
    ///   for a field in `keeping`, `.incorrectType` (111) for types, `.validationError` (142) for values that cannot be
    ///   converted and for too many rows.
    public func convertField(_ className: String, _ wish: JSON, keeping: Set<String>) throws -> JSON {
        guard let info = schema.classes[className] else { throw ClassSchemaError.missing(className) }
        guard let field = wish["field"]?.stringValue, let source = info.fields[field] else {
            throw ParseError(.classNotEmpty, "The field does not exist, cannot convert.")
        }
        guard !keeping.contains(field) else {
            throw ParseError(.changedImmutableField, "field \(field) cannot be changed")
        }
        let target = try fieldType(wish)
        let conversion = try FieldConversion(from: source, to: target)
        var values: [(objectId: String, value: JSON, converted: JSON?)] = []
        try forEachValue(of: field, className) { values.append(($0, $1, conversion.converted($1))) }
        let others = values.filter { $0.converted == nil }
        let applies = wish["apply"] == true
        if applies {
            guard others.isEmpty || wish["removeOthers"] == true else {
                throw ParseError(
                    .validationError, "\(others.count) values of \(field) cannot be converted to \(target.label).")
            }
            try change(field, of: info, to: target, conversion)
            for row in values {
                let change = row.converted ?? ["__op": "Delete"]
                guard change != row.value else { continue }
                let document = try get(className, row.objectId, caller: .master)
                let updatedAt = try JSON(parsing: document)["updatedAt"] ?? .null
                _ = try update(
                    className, row.objectId, .object([field: change, "updatedAt": updatedAt]), keepsTimes: true,
                    caller: .master)
            }
            try addIndexes(of: field, className, as: info.edits.indexes)
        }
        return [
            "className": .string(className), "field": .string(field), "from": source.json, "to": target.json,
            "rows": .int(Int64(values.count)), "converted": .int(Int64(values.count - others.count)),
            "others": .int(Int64(others.count)),
            "examples": .array(
                others.prefix(Self.examplesMax).map { ["objectId": .string($0.objectId), "value": $0.value] }),
            "applied": .bool(applies),
        ]
    }

    private func forEachValue(
        of field: String, _ className: String, _ work: (_ objectId: String, _ value: JSON) -> Void
    ) throws {
        var (last, rows) = ("", 0)
        while true {
            let page = try documents(
                Query(
                    className: className, where: ["objectId": ["$gt": .string(last)]], order: ["objectId"],
                    limit: Self.convertedAtOnce, keys: [field]), caller: .master)
            for document in page {
                guard let id = document["objectId"]?.stringValue else { throw ParseError.internalError }
                last = id
                if let value = document[field], !value.isNull { work(id, value) }
            }
            rows += page.count
            guard rows <= Self.convertedRowsMax else {
                throw ParseError(
                    .validationError, "A class of more than \(Self.convertedRowsMax) rows cannot be converted.")
            }
            if page.count < Self.convertedAtOnce { return }
        }
    }

    /// Changes the field's type. Drops the indexes of the field, which hold its values in the former type.
    private func change(
        _ field: String, of before: ClassInfo, to target: FieldType, _ conversion: FieldConversion
    ) throws {
        var info = before
        if let value = info.fieldOptions[field]?.defaultValue {
            guard let converted = conversion.converted(value) else {
                throw ParseError(.validationError, "The default of \(field) cannot be converted to \(target.label).")
            }
            info.fieldOptions[field]?.defaultValue = converted
        }
        try dropIndexes(on: field, of: &info)
        info.fields[field] = target
        try writer.save(info, in: &schema)
    }

    /// Recreates the operators' indexes of the field.
    private func addIndexes(of field: String, _ className: String, as indexes: [String: ClassIndex]) throws {
        guard var info = schema.classes[className] else { throw ParseError.internalError }
        let dropped = indexes.filter { $0.value.fields.contains { $0.name == field } }
        guard !dropped.isEmpty else { return }
        for (name, index) in dropped {
            do {
                try writer.addIndex(name, index, to: info)
            } catch let error as StoreError where error.isUniqueViolation {
                throw ParseError(.duplicateValue, "Index \(name) cannot be unique: converted values are the same.")
            }
            info.edits.indexes[name] = index
        }
        try writer.save(info, in: &schema)
    }
}
