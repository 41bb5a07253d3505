import ParseProtocol
import PostgreSQL

extension PostgreSQLStoreConnection {
    /// The tables that replace `PRAGMA user_version` and the stored text of SQLite's indexes, and the functions.
    private static let ownTables =
        [
            """
            CREATE TABLE IF NOT EXISTS storeState(
                id int PRIMARY KEY CHECK (id = 1), generation bigint NOT NULL, writer bigint NOT NULL)
            """,
            "INSERT INTO storeState(id, generation, writer) VALUES (1, 0, 0) ON CONFLICT DO NOTHING",
            """
            CREATE TABLE IF NOT EXISTS storeIndexes(
                name text PRIMARY KEY, relation text NOT NULL, columns text NOT NULL)
            """,
        ] + PostgreSQLFunctions.all

    func createOwnTables() throws {
        for statement in Self.ownTables { try executeOnce(statement) }
    }

    /// The table that earlier releases made in a schema with `SATCHEL_POSTGRESQL=plain`
    /// (docs/internals/decisions/postgresql-relatives.md). Only `StoreMove` reads such a schema.
    static let leaseTable = "storeLease"

    /// - Parameter path: the database's name in the log.
    /// - Throws: `DatabaseRefused` for a schema that was written with `SATCHEL_POSTGRESQL=plain`.
    func requireNoLease(_ path: String) throws {
        guard try hasTable(Self.leaseTable) else { return }
        throw DatabaseRefused(
            path, "was written with SATCHEL_POSTGRESQL=plain, which this release does not support.",
            "Nothing was changed. Move the data to SQLite: scripts/move SERVICE --to sqlite (docs/guides/upgrading.md)."
        )
    }

    func generation() throws -> Int64 {
        let statement = try statement("SELECT generation FROM storeState")
        defer { statement.reset() }
        return try statement.step() ? statement.int(0) : 0
    }

    func setGeneration(_ generation: Int64) throws {
        try execute("UPDATE storeState SET generation = ?", [.int(generation)])
    }

    func hasSchema(_ name: String) throws -> Bool {
        try !rows("SELECT 1 FROM information_schema.schemata WHERE schema_name = ?::text", [.text(name)]).isEmpty
    }

    func hasTable(_ name: String) throws -> Bool {
        try !rows(
            """
            SELECT 1 FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = ?::text
            """, [.text(name.lowercased())]
        ).isEmpty
    }

    // MARK: Indexes

    func indexNames(of table: String) throws -> [String] {
        try rows("SELECT name FROM storeIndexes WHERE relation = ?", [.text(table)]).map { try $0.text(0) }
    }

    func indexColumns() throws -> [String: [[String]]] {
        try rows("SELECT relation, columns FROM storeIndexes").reduce(into: [:]) { result, row in
            let columns = try JSON(parsing: row.text(1)).arrayValue?.compactMap(\.stringValue) ?? []
            result[try row.text(0), default: []].append(columns)
        }
    }

    func createIndex(_ name: String, on table: String, columns: [SortedColumn], isUnique: Bool) throws {
        let list = columns.map(Self.indexed).joined(separator: ", ")
        try createIndex(
            name, of: table, isUnique: isUnique, columns: columns.map(\.column), "ON \(table)(\(list))")
    }

    /// - Parameters:
    ///   - relation: the name under which it is listed.
    ///   - definition: the text after its name.
    func createIndex(
        _ name: String, of relation: String, isUnique: Bool = false, columns: [String] = [], _ definition: String
    ) throws {
        try interruptIndexBuilds()
        try executeOnce("CREATE \(isUnique ? "UNIQUE " : "")INDEX \(Self.indexName(name)) \(definition)")
        try note(name, of: relation, columns)
    }

    /// Lists an index that becomes complete with this transaction.
    func note(_ name: String, of relation: String, _ columns: [String]) throws {
        try execute(
            "INSERT INTO storeIndexes(name, relation, columns) VALUES (?, ?, ?)",
            [.text(name), .text(relation), .text(JSON.array(columns.map(JSON.string)).serializedText)])
    }

    /// A column in the form that orders use (`Dialect.sorted`), so that the index serves them in both directions.
    static func indexed(_ column: SortedColumn) -> String {
        let sign = column.isDescending ? " DESC" : " ASC"
        guard BuiltInField(rawValue: column.column) == nil else { return column.column + sign }
        return "(\(column.column))\(sign) NULLS \(column.isDescending ? "LAST" : "FIRST")"
    }

    func interruptIndexBuilds() throws {
        _ = try rows(
            """
            SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
            WHERE application_name = ? AND datname = current_database() AND usename = current_user
            """, [.text(IndexBuilder.applicationName(of: target))])
    }

    func dropIndex(_ name: String) throws {
        try execute("DELETE FROM storeIndexes WHERE name = ?", [.text(name)])
        try interruptIndexBuilds()
        try executeOnce("DROP INDEX IF EXISTS \(Self.indexName(name))")
    }

    func forgetIndexes(of table: String) throws {
        try execute("DELETE FROM storeIndexes WHERE relation = ?", [.text(table)])
    }

    /// PostgreSQL truncates names to 63 bytes, which could make two names equal.
    static func indexName(_ name: String) -> String {
        guard name.utf8.count > 60 else { return quoted(name) }
        return quoted(name.prefix(40) + "_" + String(FNV1a.hash(name.utf8), radix: 36))
    }

    // MARK: Classes

    func createClassTables(_ id: Int64) throws {
        for statement in Self.classTables(id) { try executeOnce(statement) }
    }

    private static func classTables(_ id: Int64) -> [String] {
        [
            """
            CREATE TABLE o\(id)(
                id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, objectId text NOT NULL UNIQUE,
                createdAt bigint NOT NULL, updatedAt bigint NOT NULL, publicRead boolean NOT NULL,
                publicWrite boolean NOT NULL, doc text NOT NULL, data jsonb NOT NULL)
            """,
            """
            CREATE TABLE p\(id)(
                principal text NOT NULL, object bigint NOT NULL, canRead boolean NOT NULL, canWrite boolean NOT NULL,
                PRIMARY KEY(principal, object))
            """,
            "CREATE INDEX p\(id)ByObject ON p\(id)(object)",
        ]
    }
}
