import ParseProtocol

/// Changes of classes, made by the writer inside the transaction that needs them.
struct SchemaWriter {
    let connection: Connection

    /// Stores a class and its tables. The caller puts the result into its schema.
    func create(_ name: String, permissions: ClassPermissions = .open) throws -> ClassInfo {
        try connection.execute(
            "INSERT INTO classes(name, fields, permissions, textFields) VALUES(?, '{}', ?, '[]')",
            [.text(name), .text(permissions.json.serializedText)])
        let id = connection.lastInsertedId
        // The document is the complete wire object. The columns repeat what queries decide by.
        try connection.executeOnce(
            """
            CREATE TABLE o\(id)(
                id INTEGER PRIMARY KEY, objectId TEXT NOT NULL UNIQUE, createdAt INTEGER NOT NULL,
                updatedAt INTEGER NOT NULL, publicRead INTEGER NOT NULL, publicWrite INTEGER NOT NULL,
                doc TEXT NOT NULL);
            CREATE TABLE p\(id)(
                principal TEXT NOT NULL, object INTEGER NOT NULL, canRead INTEGER NOT NULL, canWrite INTEGER NOT NULL,
                PRIMARY KEY(principal, object)) WITHOUT ROWID;
            CREATE INDEX p\(id)ByObject ON p\(id)(object);
            """)
        return ClassInfo(id: id, name: name, fields: [:], permissions: permissions, textFields: [])
    }

    /// Stores what `info` says and moves to the next generation.
    func save(_ info: ClassInfo, in schema: inout Schema) throws {
        var info = info
        info.fieldOrder = info.orderedFields
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

    /// Tells readers that they must look anew.
    func advance(_ schema: inout Schema) throws {
        schema.generation += 1
        try connection.executeOnce("PRAGMA user_version = \(schema.generation)")
    }

    /// Removes a class with everything of it.
    func drop(_ info: ClassInfo, in schema: inout Schema) throws {
        try TextIndex.drop(info, connection)
        try GeoIndex.drop(info, connection)
        try AutomaticIndex.leave(info, connection)
        try connection.executeOnce("DROP TABLE o\(info.id); DROP TABLE p\(info.id)")
        for table in ["classes WHERE id", "classEdits WHERE class", "relations WHERE class"] {
            try connection.execute("DELETE FROM \(table) = ?", [.int(info.id)])
        }
        schema.classes[info.name] = nil
        try advance(&schema)
    }

    /// Removes a field from a class and from its objects.
    func removeField(_ field: String, type: FieldType, of info: ClassInfo) throws {
        let path = try FieldPath(field)
        try connection.execute(
            """
            UPDATE o\(info.id) SET doc = json_remove(doc, \(path.expression(in: "doc"))) \
            WHERE \(path.type(in: "doc")) IS NOT NULL
            """
        )
        if type == .geoPoint { try GeoIndex.drop(info, connection) }
        if case .relation = type {
            try connection.execute(
                "DELETE FROM relations WHERE class = ? AND key = ?", [.int(info.id), .text(field)])
        }
    }

    /// Objects show every relation field of their class, also those saved before the class had it.
    func addRelationToObjects(_ field: String, target: String, of info: ClassInfo) throws {
        let path = try FieldPath(field)
        try connection.execute(
            "UPDATE o\(info.id) SET doc = json_set(doc, \(path.expression(in: "doc")), json(?))",
            [.text(JSON.relation(target).serializedText)])
    }

    /// Creates the class of a definition, or adds to it what the definition has and the file has not.
    func upgrade(to definition: ClassDefinition, in schema: inout Schema) throws {
        let stored = schema.classes[definition.name]
        var info = try stored ?? create(definition.name, permissions: definition.permissions)
        for (name, type) in definition.fields where info.fields[name] == nil {
            info.fields[name] = type
            if case .relation(let target) = type, stored != nil {
                try addRelationToObjects(name, target: target, of: info)
            }
        }
        info.permissions =
            info.edits.hasPermissions
            ? info.permissions.keepingProtection(of: definition.permissions, in: info.name) : definition.permissions
        let changesText = info.textFields != definition.textFields
        if changesText {
            try TextIndex.drop(info, connection)
            info.textFields = definition.textFields
            try TextIndex.create(info, connection)
        }
        let changesIndexes = try updateIndexes(of: info, definition.indexes, unique: definition.uniqueIndexes)
        if stored == nil || changesText || changesIndexes || stored?.fields != info.fields
            || stored?.permissions != info.permissions
        {
            try save(info, in: &schema)
        }
    }

    /// - Returns: whether there are others than before.
    private func updateIndexes(
        of info: ClassInfo, _ indexes: [[String]], unique uniqueIndexes: [[String]]
    ) throws -> Bool {
        var wanted: [String: String] = [:]
        for (isUnique, lists) in [(false, indexes), (true, uniqueIndexes)] {
            for fields in lists {
                let name = "\(isUnique ? "u" : "i")\(info.id)_" + fields.joined(separator: "_")
                let columns = try fields.map { try info.column(of: $0) }.joined(separator: ", ")
                wanted[name] = "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(name) ON o\(info.id)(\(columns))"
            }
        }
        let existing = try connection.rows(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
            [.text("o\(info.id)")]
        ).map { try $0.text(0) }.filter { !$0.hasPrefix(Self.editedIndexPrefix) }
        for name in existing where wanted[name] == nil { try connection.executeOnce("DROP INDEX \(name)") }
        for (name, sql) in wanted where !existing.contains(name) { try connection.executeOnce(sql) }
        return Set(existing) != Set(wanted.keys)
    }

    /// Indexes of operators have names of their own, so that the definitions in code leave them alone.
    private static let editedIndexPrefix = "x"

    /// - Throws: `StoreError` with `isUniqueViolation` when stored objects are not unique.
    func addIndex(_ name: String, _ index: ClassIndex, to info: ClassInfo) throws {
        let columns = try index.fields.map { field in
            try info.column(of: field.name) + (field.isDescending ? " DESC" : "")
        }
        try connection.executeOnce(
            """
            CREATE \(index.isUnique ? "UNIQUE " : "")INDEX \(try sqlName(name, info)) \
            ON o\(info.id)(\(columns.joined(separator: ", ")))
            """)
    }

    func dropIndex(_ name: String, of info: ClassInfo) throws {
        try connection.executeOnce("DROP INDEX IF EXISTS \(try sqlName(name, info))")
    }

    /// `FieldPath` lets only identifiers through, which is what may become part of SQL.
    private func sqlName(_ name: String, _ info: ClassInfo) throws -> String {
        "\(Self.editedIndexPrefix)\(info.id)_\(try FieldPath(name).root)"
    }
}

extension JSON {
    static func relation(_ target: String) -> JSON { ["__type": "Relation", "className": .string(target)] }
}
