import ParseProtocol

/// Changes of classes, made by the writer inside the transaction that needs them.
struct SchemaWriter {
    let connection: any StoreConnection

    /// Stores a class and its tables. The caller puts the result into its schema.
    func create(_ name: String, permissions: ClassPermissions = .open) throws -> ClassInfo {
        let columns: [SQLValue] = [.text(name), .text(permissions.json.serializedText)]
        let id: Int64
        if let ready = try connection.takeClassTables() {
            id = ready
            try connection.execute(
                "INSERT INTO classes(id, name, fields, permissions, textFields) VALUES(?, ?, '{}', ?, '[]')",
                [.int(id)] + columns)
        } else {
            id = try connection.insert(
                "INSERT INTO classes(name, fields, permissions, textFields) VALUES(?, '{}', ?, '[]')", columns)
            try connection.createClassTables(id)
        }
        try ChangeCapture.follow(classId: id, connection)
        var info = ClassInfo(id: id, name: name, fields: [:], permissions: permissions, textFields: [])
        info.dialect = connection.dialect
        return info
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
        try connection.setGeneration(schema.generation)
    }

    /// Removes a class with everything of it.
    func drop(_ info: ClassInfo, in schema: inout Schema) throws {
        try AutomaticIndex.leave(info, connection)
        if try !connection.leaveTables(of: info) {
            try connection.makeWay()
            try TextIndex.drop(info, connection)
            try GeoIndex.drop(info, connection)
            for letter in ["o", "p"] { try connection.executeOnce("DROP TABLE \(letter)\(info.id)") }
            try connection.forgetIndexes(of: "o\(info.id)")
        }
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
        if connection.dialect == .plain {
            try rewrite(info, where: isThere) { $0[field] = nil }
        } else {
            let document = connection.dialect.setting(document: connection.dialect.removing(path))
            try connection.execute("UPDATE o\(info.id) SET \(document) WHERE \(isThere)")
        }
        if type == .geoPoint { try GeoIndex.drop(info, connection) }
        if case .relation = type {
            try connection.execute(
                "DELETE FROM relations WHERE class = ? AND key = ?", [.int(info.id), .text(field)])
        }
    }

    /// Objects show every relation field of their class, also those saved before the class had it.
    func addRelationToObjects(_ field: String, target: String, of info: ClassInfo) throws {
        let path = try FieldPath(field)
        if connection.dialect == .plain { return try rewrite(info) { $0[field] = .relation(target) } }
        let document = connection.dialect.setting(document: connection.dialect.setting(path, to: "?1"))
        try connection.execute(
            "UPDATE o\(info.id) SET \(document)", [.text(JSON.relation(target).serializedText)])
    }

    /// Objects that are read at once to be rewritten.
    private static let rewrittenAtOnce: Int64 = 200

    /// Rewrites the documents of a class one by one.
    private func rewrite(
        _ info: ClassInfo, where condition: String = "TRUE", _ change: (inout [String: JSON]) -> Void
    ) throws {
        var last: Int64 = 0
        while true {
            let rows = try connection.rows(
                "SELECT id, doc FROM o\(info.id) WHERE id > ? AND \(condition) ORDER BY id LIMIT ?::bigint",
                [.int(last), .int(Self.rewrittenAtOnce)])
            for row in rows {
                last = try row.int(0)
                guard case .object(var members) = try JSON(parsing: row.text(1)) else { continue }
                change(&members)
                try connection.execute(
                    "UPDATE o\(info.id) SET \(connection.dialect.setting(document: "?1")) WHERE id = ?2",
                    [.text(JSON.object(members).serializedText), .int(last)])
            }
            if rows.count < Int(Self.rewrittenAtOnce) { return }
        }
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
        let changesText =
            try info.textFields != definition.textFields || !TextIndex.isComplete(info, connection)
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

    /// Indexes of operators have names of their own, so that the definitions in code leave them alone.
    private static let editedIndexPrefix = "x"

    /// - Throws: `StoreError` with `isUniqueViolation` when stored objects are not unique; `.invalidQuery` (102) for a
    ///   field that a plain schema has no index of.
    func addIndex(_ name: String, _ index: ClassIndex, to info: ClassInfo) throws {
        if connection.dialect == .plain {
            let isSimple = index.fields.allSatisfy { field in
                BuiltInField(rawValue: field.name) != nil || info.fields[field.name]?.comparedKind != .json
            }
            guard isSimple else {
                throw ParseError(
                    .invalidQuery,
                    """
                    An index of a list or an object is not possible where objects are kept with \
                    SATCHEL_POSTGRESQL=plain.
                    """)
            }
        }
        let columns = try index.fields.map { field in
            SortedColumn(column: try info.column(of: field.name), isDescending: field.isDescending)
        }
        try connection.createIndex(
            try sqlName(name, info), on: "o\(info.id)", columns: columns, isUnique: index.isUnique)
    }

    func dropIndex(_ name: String, of info: ClassInfo) throws {
        try connection.dropIndex(sqlName(name, info))
    }

    /// `FieldPath` lets only identifiers through, which is what may become part of SQL.
    private func sqlName(_ name: String, _ info: ClassInfo) throws -> String {
        "\(Self.editedIndexPrefix)\(info.id)_\(try FieldPath(name).root)"
    }
}

extension JSON {
    static func relation(_ target: String) -> JSON { ["__type": "Relation", "className": .string(target)] }
}
