import ParseProtocol

/// The classes that are created, changed and dropped during a move, and the data derived from their objects.
extension StoreMove {
    /// Applies the changes of classes in the snapshot of a round.
    func followClasses() throws {
        let schema = try Schema.load(source.connection)
        let there = Dictionary(uniqueKeysWithValues: schema.classes.values.map { ($0.id, $0) })
        for id in infos.keys where there[id] == nil { try drop(id) }
        for (id, info) in there {
            guard let known = infos[id] else {
                try add(info)
                if hasDerived { awaited.insert(id) }
                continue
            }
            guard Self.shape(of: known) != Self.shape(of: info) else { continue }
            var info = info
            info.dialect = target.connection.dialect
            if derived.contains(id) {
                try underive(known)
                awaited.insert(id)
            }
            infos[id] = info
        }
    }

    /// The parts of a class that determine its derived data.
    private static func shape(of info: ClassInfo) -> [String] {
        [info.name, info.geoField ?? "", JSON.object(info.edits.storedIndexes).serializedText] + info.textFields
    }

    /// Creates the text, geo and other indexes for the existing objects.
    func derive(_ id: Int64) throws {
        guard let info = infos[id] else { return }
        try target.write { connection in
            try TextIndex.create(info, connection)
            try GeoIndex.create(info, connection)
            let writer = SchemaWriter(connection: connection)
            if let definition = classes.first(where: { $0.name == info.name }) {
                try writer.updateIndexes(of: info, definition.indexes, unique: definition.uniqueIndexes)
            }
            for (name, index) in info.edits.indexes {
                try writer.addIndex(name, index, to: info)
            }
        }
        derived.insert(id)
    }

    private func underive(_ info: ClassInfo) throws {
        try target.write { connection in
            try TextIndex.drop(info, connection)
            try GeoIndex.drop(info, connection)
            for name in try connection.indexNames(of: "o\(info.id)") { try connection.dropIndex(name) }
        }
        derived.remove(info.id)
    }

    private func drop(_ id: Int64) throws {
        guard let info = infos.removeValue(forKey: id) else { return }
        try underive(info)
        try target.write { connection in
            for letter in ["o", "p"] { try connection.executeOnce("DROP TABLE \(letter)\(id)") }
            try connection.forgetIndexes(of: "o\(id)")
        }
        for name in ["o\(id)", "p\(id)"] { tables[name] = nil }
        awaited.remove(id)
    }

    /// Recreates a class whose number an earlier class had.
    func empty(_ id: Int64) throws {
        guard let info = infos[id] else { return }
        try drop(id)
        try add(info)
        if hasDerived { awaited.insert(id) }
    }

    // MARK: Rows

    /// Removes an object from the text and geo indexes before it is removed.
    func forget(_ key: [SQLValue], of table: MovedTable) throws {
        guard let (info, row) = followed(table, key), let before = try document(of: key, table) else { return }
        try TextIndex.update(info, row: row, from: before, to: nil, target.connection)
        try GeoIndex.update(info, row: row, from: before, to: nil, target.connection)
    }

    /// Adds an object to the text and geo indexes.
    func learn(_ values: [SQLValue], of table: MovedTable) throws {
        guard let (info, row) = followed(table, table.key(of: values)),
            let text = table.value("doc", of: values).textValue
        else { return }
        let after = try JSON(parsing: text)
        try TextIndex.update(info, row: row, from: nil, to: after, target.connection)
        try GeoIndex.update(info, row: row, from: nil, to: after, target.connection)
    }

    private func followed(_ table: MovedTable, _ key: [SQLValue]) -> (ClassInfo, row: Int64)? {
        guard table.hasObjects, let id = table.classId, derived.contains(id), let info = infos[id],
            !info.textFields.isEmpty || info.geoField != nil, let row = key.first?.intValue
        else { return nil }
        return (info, row)
    }

    private func document(of key: [SQLValue], _ table: MovedTable) throws -> JSON? {
        guard let row = try copied(table).row(key), let text = table.value("doc", of: row).textValue else { return nil }
        return try JSON(parsing: text)
    }

    // MARK: Beside the rows

    /// Moves the counters of row numbers, so that no number is assigned twice even if its row was deleted.
    func moveCounters() throws {
        for pair in tables.values where pair.source.key.count == 1 && pair.source.key[0].type == .int {
            let given = try lastGiven(pair.source)
            try raiseCounter(of: pair.target, to: given)
        }
    }

    /// The highest row number ever assigned, as far as the source knows it.
    private func lastGiven(_ table: MovedTable) throws -> Int64 {
        let key = table.key[0].quoted
        let most = try source.connection.rows("SELECT coalesce(max(\(key)), 0) FROM \(table.quoted)").first?.int(0) ?? 0
        guard source.connection.dialect != .sqlite else {
            guard try source.connection.hasTable("sqlite_sequence") else { return most }
            let kept = try source.connection.rows(
                "SELECT seq FROM sqlite_sequence WHERE lower(name) = ?", [.text(table.name)])
            return max(most, try kept.first?.int(0) ?? 0)
        }
        let counter = try source.connection.rows(
            "SELECT pg_get_serial_sequence(quote_ident(?::text), ?::text)",
            [.text(table.name), .text(table.key[0].name)]
        ).first?[0].textValue
        guard let counter else { return most }
        let rows = try source.connection.rows("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM \(counter)")
        return max(most, try rows.first?.int(0) ?? 0)
    }

    private func raiseCounter(of table: MovedTable, to number: Int64) throws {
        guard number > 0 else { return }
        guard target.connection.dialect == .sqlite else {
            _ = try target.connection.rows(
                """
                SELECT setval(counter::regclass, ?::bigint)
                FROM pg_get_serial_sequence(quote_ident(?::text), ?::text) AS counter WHERE counter IS NOT NULL
                """, [.int(number), .text(table.name), .text(table.key[0].name)])
            return
        }
        // Only tables with AUTOINCREMENT have a counter.
        guard try target.connection.hasTable("sqlite_sequence") else { return }
        let sql = try target.connection.rows(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND lower(name) = ?", [.text(table.name)]
        ).first
        guard let sql, try sql.text(1).uppercased().contains("AUTOINCREMENT") else { return }
        try target.write { connection in
            try connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", [sql[0]])
            try connection.execute("INSERT INTO sqlite_sequence(name, seq) VALUES (?, ?)", [sql[0], .int(number)])
        }
    }

    /// Both engines share only the automatic indexes that operators marked as unwanted.
    func moveUnwantedIndexes() throws {
        let columns = "id, class, keys, filters, madeBy, madeAt, state, isUnwanted, through, last"
        let rows = try source.connection.rows(
            "SELECT \(columns) FROM automaticIndexes WHERE state = ?", [.text(AutomaticIndex.State.unwanted.rawValue)])
        try target.write { connection in
            for row in rows {
                try connection.execute(
                    "INSERT INTO automaticIndexes(\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row.values)
            }
        }
    }
}
