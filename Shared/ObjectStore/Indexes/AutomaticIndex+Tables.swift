import ParseProtocol

/// The stored form of automatic indexes: their list `automaticIndexes`, and in SQLite their tables and triggers.
extension AutomaticIndex {
    /// All automatic indexes by class id; 0 stands for deleted classes.
    static func stored(_ connection: any StoreConnection) throws -> [Int64: [AutomaticIndex]] {
        let rows = try connection.rows(
            "SELECT id, class, keys, filters, madeBy, madeAt, state, isUnwanted FROM automaticIndexes ORDER BY id")
        return try rows.reduce(into: [:]) { result, row in
            func names(_ column: Int) throws -> [String] {
                try JSON(parsing: row.text(column)).arrayValue?.compactMap(\.stringValue) ?? []
            }
            let index = try AutomaticIndex(
                id: row.int(0), fields: IndexFields(keys: names(2), filters: names(3)),
                maker: Maker(rawValue: row.text(4)) ?? .satchel, madeAt: Timestamp(milliseconds: row.int(5)),
                state: State(rawValue: row.text(6)) ?? .dropping, isUnwanted: row.int(7) != 0)
            result[try row.int(1), default: []].append(index)
        }
    }

    /// Creates an empty index of a class, which triggers keep current from then on. `StoreTransaction.stepIndexes` adds
    /// the existing objects. In PostgreSQL it only adds the index to the list of work.
    static func begin(
        _ fields: IndexFields, of info: inout ClassInfo, by maker: Maker, at now: Timestamp,
        _ connection: any StoreConnection
    ) throws {
        // Before the index takes a number, because a rollback does not return the number.
        try connection.requireExclusive()
        let names = { (fields: [String]) in SQLValue.text(JSON.array(fields.map(JSON.string)).serializedText) }
        // An explicit request clears the mark "unwanted".
        for place in info.automatic.indices where info.automatic[place].name == fields.name {
            info.automatic[place].isUnwanted = false
            try connection.execute(
                "UPDATE automaticIndexes SET isUnwanted = 0 WHERE id = ?", [.int(info.automatic[place].id)])
        }
        info.automatic.removeAll { $0.state == .unwanted && !$0.isUnwanted }
        try connection.execute(
            "DELETE FROM automaticIndexes WHERE state = ? AND isUnwanted = 0", [.text(State.unwanted.rawValue)])
        let id = try connection.insert(
            """
            INSERT INTO automaticIndexes(class, keys, filters, madeBy, madeAt, state, last) \
            VALUES(?, ?, ?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM o\(info.id)))
            """,
            [
                .int(info.id), names(fields.keys), names(fields.filters), .text(maker.rawValue),
                .int(now.milliseconds), .text(State.building.rawValue),
            ])
        let index = AutomaticIndex(
            id: id, fields: fields, maker: maker, madeAt: now, state: .building,
            isUnwanted: false)
        if info.dialect == .sqlite { try connection.executeOnce(index.creation(info)) }
        info.automatic.append(index)
    }

    private func creation(_ info: ClassInfo) throws -> String {
        let places = fields.all.indices
        let types = fields.all.map { field -> String in
            // Without this affinity SQLite does not match an integer with a fractional number, which is compared as
            // `CAST(? AS REAL)`.
            if BuiltInField(rawValue: field) != nil { return " NUMERIC" }
            return info.fields[field] == .number || info.fields[field] == .boolean ? " NUMERIC" : ""
        }
        let declared = places.map { Self.column($0) + types[$0] }.joined(separator: ", ")
        let keys = places.prefix(fields.keys.count).map(Self.column)
        let order = keys + ["object"] + places.dropFirst(fields.keys.count).map(Self.column) + ["readable"]
        let values = try values(info, row: "new.")
        let changed = columns.dropFirst()
        return """
            CREATE TABLE \(table)(object INTEGER PRIMARY KEY, \(declared), readable INTEGER NOT NULL);
            CREATE INDEX \(table)k ON \(table)(\(order.joined(separator: ", ")));
            CREATE TRIGGER \(table)i AFTER INSERT ON o\(info.id) BEGIN
                INSERT OR REPLACE INTO \(table) VALUES(\(values));
            END;
            CREATE TRIGGER \(table)u AFTER UPDATE OF doc, publicRead, createdAt, updatedAt ON o\(info.id) BEGIN
                INSERT INTO \(table) SELECT \(values) WHERE true
                ON CONFLICT(object) DO UPDATE SET \(changed.map { "\($0)=excluded.\($0)" }.joined(separator: ", "))
                WHERE \(changed.map { "\($0) IS NOT excluded.\($0)" }.joined(separator: " OR "));
            END;
            CREATE TRIGGER \(table)d AFTER DELETE ON o\(info.id) BEGIN
                DELETE FROM \(table) WHERE object=old.id;
            END;
            """
    }

    /// SQL of a row of the index table, from a row of the class's table.
    func values(_ info: ClassInfo, row: String) throws -> String {
        let values = try fields.all.map { field -> String in
            if BuiltInField(rawValue: field) != nil { return row + field }
            return try info.dialect.value(FieldPath(field), of: info.fields[field], in: row + "doc")
        }
        return (["\(row)id"] + values + ["\(row)publicRead"]).joined(separator: ", ")
    }

    /// Stops the use of an index. It is removed in the background (`ClassStore.stepIndexes`).
    /// - Parameter isUnwanted: record it as unwanted, so that it is not created again.
    mutating func retire(isUnwanted: Bool, _ connection: any StoreConnection) throws {
        state = .dropping
        self.isUnwanted = isUnwanted
        if connection.dialect == .sqlite {
            try connection.executeOnce(["i", "u", "d"].map { "DROP TRIGGER IF EXISTS \(table)\($0);" }.joined())
        }
        try connection.execute(
            "UPDATE automaticIndexes SET state = ?, isUnwanted = ? WHERE id = ?",
            [.text(state.rawValue), .int(isUnwanted ? 1 : 0), .int(id)])
    }

    /// Marks the indexes of a dropped class for removal in steps, and forgets its unwanted ones.
    static func removeAll(of info: ClassInfo, _ connection: any StoreConnection) throws {
        try connection.execute(
            "DELETE FROM automaticIndexes WHERE class = ? AND state = ?",
            [.int(info.id), .text(State.unwanted.rawValue)])
        try connection.execute(
            "UPDATE automaticIndexes SET class = 0, state = ?, isUnwanted = 0 WHERE class = ?",
            [.text(State.dropping.rawValue), .int(info.id)])
    }
}
