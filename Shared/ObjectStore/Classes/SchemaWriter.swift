import ParseProtocol

/// Changes classes on the writer, inside the transaction that needs the change.
struct SchemaWriter {
    let connection: any StoreConnection

    /// Stores a class and its tables. The caller adds the result to its schema.
    func create(_ name: String, permissions: ClassPermissions = .open) throws -> ClassInfo {
        let columns: [SQLValue] = [.text(name), .text(permissions.json.serializedText)]
        let id = try connection.insert(
            "INSERT INTO classes(name, fields, permissions, textFields) VALUES(?, '{}', ?, '[]')", columns)
        try connection.createClassTables(id)
        try ChangeCapture.follow(classId: id, connection)
        var info = ClassInfo(id: id, name: name, fields: [:], permissions: permissions, textFields: [])
        info.dialect = connection.dialect
        return info
    }

    /// Stores `info` and increments the generation.
    func save(_ info: ClassInfo, in schema: inout Schema) throws {
        let info = info.normalized
        try connection.execute(
            "UPDATE classes SET fields = ?, permissions = ?, textFields = ? WHERE id = ?",
            [
                .text(JSON.object(info.storedFields).serializedText),
                .text(info.permissions.json.serializedText),
                .text(JSON.array(info.textFields.map(JSON.string)).serializedText), .int(info.id),
            ])
        if info.edits != schema.classes[info.name]?.edits ?? ClassEdits() {
            try connection.execute(
                """
                INSERT INTO classEdits(class, hasPermissions, indexes) VALUES(?, ?, ?)
                ON CONFLICT(class) DO UPDATE SET hasPermissions = excluded.hasPermissions, indexes = excluded.indexes
                """,
                [
                    .int(info.id), .int(info.edits.hasPermissions ? 1 : 0),
                    .text(JSON.object(info.edits.storedIndexes).serializedText),
                ])
        }
        schema.classes[info.name] = info
        try advance(&schema)
    }

    /// Increments the generation, so that readers reload the schema.
    func advance(_ schema: inout Schema) throws {
        schema.generation += 1
        try connection.setGeneration(schema.generation)
    }

    /// Removes a class with its objects, indexes and relations.
    func drop(_ info: ClassInfo, in schema: inout Schema) throws {
        try AutomaticIndex.removeAll(of: info, connection)
        try connection.interruptIndexBuilds()
        try TextIndex.drop(info, connection)
        try GeoIndex.drop(info, connection)
        for letter in ["o", "p"] { try connection.executeOnce("DROP TABLE \(letter)\(info.id)") }
        try connection.forgetIndexes(of: "o\(info.id)")
        try ChangeCapture.forget(classId: info.id, connection)
        for table in ["classes WHERE id", "classEdits WHERE class", "relations WHERE class"] {
            try connection.execute("DELETE FROM \(table) = ?", [.int(info.id)])
        }
        schema.classes[info.name] = nil
        try advance(&schema)
    }

    /// Removes a field from a class and from its objects.
    func removeField(_ field: String, type: FieldType, of info: ClassInfo) throws {
        let path = try FieldPath(field)
        let isThere = "\(connection.dialect.type(path, in: "doc")) IS NOT NULL"
        let document = connection.dialect.setting(document: connection.dialect.removing(path))
        try connection.execute("UPDATE o\(info.id) SET \(document) WHERE \(isThere)")
        if type == .geoPoint { try GeoIndex.drop(info, connection) }
        if case .relation = type {
            try connection.execute(
                "DELETE FROM relations WHERE class = ? AND key = ?", [.int(info.id), .text(field)])
        }
    }

    /// Creates the class of a definition, or adds the definition's parts that the database lacks.
    func upgrade(to definition: ClassDefinition, in schema: inout Schema) throws {
        let stored = schema.classes[definition.name]
        var info = try stored ?? create(definition.name, permissions: definition.permissions)
        for (name, type) in definition.fields where info.fields[name] != type {
            guard let stored = info.fields[name] else {
                info.fields[name] = type
                continue
            }
            guard type.accepts(stored) else { continue }
            // An operator's index holds the values in the former type.
            for (index, _) in info.edits.indexes.filter({ $1.fields.contains { $0.name == name } }) {
                try dropIndex(index, of: info)
                info.edits.indexes[index] = nil
            }
            info.fields[name] = type
        }
        info.permissions =
            info.edits.hasPermissions
            ? info.permissions.adding(builtInProtection: definition.permissions.protectedFields)
            : definition.permissions
        info.permissions.displayFields = definition.permissions.displayFields
        let changesText =
            try info.textFields != definition.textFields || TextIndex.state(of: info, connection) == .missing
        if changesText {
            info.textFields = definition.textFields
            try beginText(of: info)
        }
        let changesIndexes = try updateIndexes(of: info, definition.indexes, unique: definition.uniqueIndexes)
        if stored == nil || changesText || changesIndexes || stored?.fields != info.fields
            || stored?.permissions != info.permissions
        {
            try save(info, in: &schema)
        }
    }

    /// Creates the text index anew. `StoreTransaction.stepText` adds the stored objects.
    func beginText(of info: ClassInfo) throws {
        try TextIndex.begin(info, connection)
        if try connection.rows("SELECT 1 FROM o\(info.id) LIMIT 1").isEmpty { try TextIndex.finish(info, connection) }
    }

    /// - Returns: whether the set of indexes changed.
    @discardableResult
    func updateIndexes(
        of info: ClassInfo, _ indexes: [[String]], unique uniqueIndexes: [[String]]
    ) throws -> Bool {
        var wanted: [String: (columns: [SortedColumn], isUnique: Bool)] = [:]
        for (isUnique, lists) in [(false, indexes), (true, uniqueIndexes)] {
            for fields in lists {
                let name = "\(isUnique ? "u" : "i")\(info.id)_" + fields.joined(separator: "_")
                wanted[name] = (try fields.map { SortedColumn(column: try info.column(of: $0)) }, isUnique)
            }
        }
        let existing = try connection.indexNames(of: "o\(info.id)").filter { !$0.hasPrefix(Self.editedIndexPrefix) }
        for name in existing where wanted[name] == nil { try connection.dropIndex(name) }
        for (name, index) in wanted where !existing.contains(name) {
            try connection.createIndex(
                name, on: "o\(info.id)", columns: index.columns, isUnique: index.isUnique)
        }
        return Set(existing) != Set(wanted.keys)
    }

    /// The name prefix of operators' indexes, so that the definitions in code do not drop them.
    private static let editedIndexPrefix = "x"

    /// - Throws: `StoreError` with `isUniqueViolation` when stored objects are not unique.
    func addIndex(_ name: String, _ index: ClassIndex, to info: ClassInfo) throws {
        let columns = try index.fields.map { field in
            SortedColumn(column: try info.column(of: field.name), isDescending: field.isDescending)
        }
        try connection.createIndex(
            try sqlName(name, info), on: "o\(info.id)", columns: columns, isUnique: index.isUnique)
    }

    func dropIndex(_ name: String, of info: ClassInfo) throws {
        try connection.dropIndex(sqlName(name, info))
    }

    /// `FieldPath` accepts only identifiers, so its root is safe in SQL.
    private func sqlName(_ name: String, _ info: ClassInfo) throws -> String {
        "\(Self.editedIndexPrefix)\(info.id)_\(try FieldPath(name).root)"
    }
}

extension JSON {
    static func relation(_ target: String) -> JSON { ["__type": "Relation", "className": .string(target)] }
}
