import ParseProtocol

/// The knowledge about a class that each create of its objects needs.
struct Creation {
    let insert: any StoreStatement
    /// The same without an answer to wait for, where all jobs are done again when it fails: of plain objects in
    /// PostgreSQL.
    let unanswered: PostgreSQLStoreStatement?
    /// Whether an object is its row and the rows of its ACL, without places in other indexes than SQLite's own.
    let isPlain: Bool

    init(of info: ClassInfo, _ connection: any StoreConnection) throws {
        let row = """
            INSERT INTO o\(info.id)(objectId, createdAt, updatedAt, publicRead, publicWrite, \
            \(connection.dialect.documentColumns)) VALUES(?1, ?2, ?3, ?4, ?5, \(connection.dialect.document("?6")))
            """
        let dialect = connection.dialect
        insert = try connection.statement(row + dialect.orNothing + dialect.returningId)
        isPlain = info.textFields.isEmpty && info.geoField == nil && info.relationFields.isEmpty
        unanswered =
            isPlain && dialect != .sqlite ? try connection.statement(row) as? PostgreSQLStoreStatement : nil
    }
}

extension StoreTransaction {
    /// Whether creating this object, or changing one so, fails before it changes anything or not at all, but for a disk
    /// that fails: the class knows every field, and everything is checked before the one statement that can be refused.
    package func changesAtOnce(_ className: String, _ object: JSON) -> Bool {
        guard case .object(let fields) = object, let info = schema.classes[className],
            let creation = try? creation(of: info), creation.isPlain
        else { return false }
        return fields.keys.allSatisfy(info.takes)
    }
}
