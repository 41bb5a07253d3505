import ParseProtocol

/// The prepared statements and facts of a class that each create or update of its objects needs.
struct Creation {
    let insert: any StoreStatement
    /// The UPDATE of a row, without `createdAt`.
    let update: any StoreStatement
    /// The same INSERT for plain objects in PostgreSQL, sent without waiting for a result. If it fails, all jobs of the
    /// group are retried.
    let unanswered: PostgreSQLStoreStatement?
    /// Whether an object consists only of its row and the rows of its ACL, without entries in indexes that the store
    /// maintains.
    let isPlain: Bool

    init(of info: ClassInfo, _ connection: any StoreConnection) throws {
        let row = """
            INSERT INTO o\(info.id)(objectId, createdAt, updatedAt, publicRead, publicWrite, \
            \(connection.dialect.documentColumns)) VALUES(?1, ?2, ?3, ?4, ?5, \(connection.dialect.document("?6")))
            """
        let dialect = connection.dialect
        insert = try connection.statement(row + dialect.orNothing + dialect.returningId)
        update = try connection.statement(Self.updating(info, dialect, setsCreatedAt: false))
        isPlain = info.textFields.isEmpty && info.geoField == nil && info.relationFields.isEmpty
        unanswered =
            isPlain && dialect != .sqlite ? try connection.statement(row) as? PostgreSQLStoreStatement : nil
    }

    static func updating(_ info: ClassInfo, _ dialect: Dialect, setsCreatedAt: Bool) -> String {
        """
        UPDATE o\(info.id) SET \(setsCreatedAt ? "createdAt = ?6, " : "")updatedAt = ?1, publicRead = ?2, \
        publicWrite = ?3, \(dialect.setting(document: "?4")) WHERE id = ?5
        """
    }
}

extension StoreTransaction {
    /// Whether creating this object, or changing one in this form, can fail only before its first change, unless the
    /// disk fails: the class has every field, and everything is checked before the only statement that can be refused.
    package func changesAtOnce(_ className: String, _ object: JSON) -> Bool {
        guard case .object(let fields) = object, let info = schema.classes[className],
            let creation = try? creation(of: info), creation.isPlain
        else { return false }
        return fields.keys.allSatisfy(info.takes)
    }
}
