import ParseProtocol

/// Where every replica writes, changes for live queries go through the database. Each transaction records its changes
/// to objects of watched classes in `liveChanges`. The leading process reads all of them from there, including its own.
/// Row numbers follow the order of an object's changes: a transaction that changes the object next either began after
/// the earlier commit, or conflicts and is retried.
///
/// The tables belong to the service kit (`Migrations.serviceKit`).
extension StoreTransaction {
    /// Records a change of a watched class.
    func logChange(_ info: ClassInfo, _ objectId: String, before: StoredImage?, after: StoredImage?) throws {
        guard try !rows("SELECT 1 AS found FROM liveClasses WHERE name = ?", [.text(info.name)]).isEmpty else { return }
        _ = try execute(
            "INSERT INTO liveChanges(class, objectId, textBefore, textAfter) VALUES (?, ?, ?, ?)",
            [
                .text(info.name), .text(objectId), before.map { .blob($0.text) } ?? .null,
                after.map { .blob($0.text) } ?? .null,
            ])
    }

    /// Removes and returns the oldest recorded changes. Changes of deleted classes are skipped.
    package func takeLoggedChanges(atMost limit: Int) throws -> [StoredChange] {
        let logged = try rows(
            "SELECT id, class, objectId, textBefore, textAfter FROM liveChanges ORDER BY id LIMIT ?",
            [.int(Int64(limit))])
        guard !logged.isEmpty else { return [] }
        let ids = JSON.array(try logged.map { .int(try $0.int("id")) })
        _ = try execute(
            "DELETE FROM liveChanges WHERE id\(dialect.isIn("?", as: .integer))",
            [.text(String(decoding: ids.serialized, as: UTF8.self))])
        return try logged.compactMap { row in
            guard let info = schema.classes[try row.text("class")] else { return nil }
            return StoredChange(
                info: info, generation: schema.generation, objectId: try row.text("objectId"),
                before: try Self.image(row["textBefore"]), after: try Self.image(row["textAfter"]))
        }
    }

    private static func image(_ value: SQLValue) throws -> StoredImage? {
        guard case .blob(let text) = value else { return nil }
        guard case .object(let fields) = try JSON(parsing: text) else { throw ParseError.internalError }
        return StoredImage(fields: fields, text: text)
    }
}
