import ObjectStore
import ParseProtocol

/// The tables of what another server's data waits in until the switch. No client sees them.
enum MoveStage {
    static let tables = [
        """
        CREATE TABLE stagedRows(className TEXT NOT NULL, objectId TEXT NOT NULL, updatedAt INTEGER NOT NULL,
        checksum TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY(className, objectId))
        """,
        // The schemas, and the number and bytes of the staged rows.
        """
        CREATE TABLE stagedClasses(className TEXT PRIMARY KEY, definition TEXT, rowCount INTEGER NOT NULL DEFAULT 0,
        bytes INTEGER NOT NULL DEFAULT 0)
        """,
        // How the last switch or rehearsal ended; no row after a change of what is staged.
        """
        CREATE TABLE moveState(phase TEXT PRIMARY KEY, applied INTEGER NOT NULL, failed INTEGER NOT NULL,
        failures TEXT NOT NULL)
        """,
    ]

    /// A class with staged rows or a staged schema.
    struct Class: Sendable {
        let name: String
        /// `fields`, `classLevelPermissions` and `indexes`; nil for a class without a staged schema.
        let definition: JSON?
        let rows: Int64
        let bytes: Int64
    }

    // MARK: Staging

    static func stage(_ rows: [StagedRow], of className: String, in transaction: StoreTransaction) throws {
        // The last of several rows with one id stays.
        let staged = Dictionary(rows.map { ($0.objectId, $0) }) { _, last in last }
        let former = try size(of: Array(staged.keys), className, in: transaction)
        for row in rows {
            try transaction.execute(
                """
                INSERT INTO stagedRows(className, objectId, updatedAt, checksum, body) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT(className, objectId) DO UPDATE SET updatedAt = excluded.updatedAt,
                checksum = excluded.checksum, body = excluded.body
                """,
                [
                    .text(className), .text(row.objectId), .int(row.updatedAt), .text(row.checksum), .blob(row.text),
                ])
        }
        let bytes = staged.values.reduce(into: Int64(0)) { $0 += Int64($1.text.count) }
        try add(Int64(staged.count) - former.rows, bytes - former.bytes, to: className, in: transaction)
    }

    /// - Parameter definition: JSON text.
    static func stage(schema definition: String, of className: String, in transaction: StoreTransaction) throws {
        try add(0, 0, to: className, in: transaction)
        try transaction.execute(
            "UPDATE stagedClasses SET definition = ? WHERE className = ?", [.text(definition), .text(className)])
    }

    /// - Parameter dropsClass: drops the staged schema as well if no rows are left.
    /// - Returns: the number of rows that were staged.
    static func remove(
        _ ids: [String], of className: String, dropsClass: Bool, in transaction: StoreTransaction
    ) throws -> Int64 {
        let former = try size(of: ids, className, in: transaction)
        let listed = transaction.dialect.isIn("?", as: .text)
        try transaction.execute(
            "DELETE FROM stagedRows WHERE className = ? AND objectId\(listed)", [.text(className), list(ids)])
        try add(-former.rows, -former.bytes, to: className, in: transaction)
        try transaction.execute("DELETE FROM stagedClasses WHERE rowCount = 0 AND definition IS NULL")
        if dropsClass {
            try transaction.execute(
                "DELETE FROM stagedClasses WHERE className = ? AND rowCount = 0", [.text(className)])
        }
        return former.rows
    }

    /// Drops everything that is staged.
    static func clear(in transaction: StoreTransaction) throws {
        for table in ["stagedRows", "stagedClasses"] { try transaction.execute("DELETE FROM \(table)") }
    }

    private static func size(
        of ids: [String], _ className: String, in transaction: StoreTransaction
    ) throws -> (rows: Int64, bytes: Int64) {
        let listed = transaction.dialect.isIn("?", as: .text)
        let found = try transaction.rows(
            """
            SELECT count(*), coalesce(sum(length(body)), 0) FROM stagedRows WHERE className = ? AND objectId\(listed)
            """, [.text(className), list(ids)]
        ).first
        return (try found?.int(0) ?? 0, try found?.int(1) ?? 0)
    }

    private static func add(
        _ rows: Int64, _ bytes: Int64, to className: String, in transaction: StoreTransaction
    ) throws {
        try transaction.execute(
            """
            INSERT INTO stagedClasses(className, rowCount, bytes) VALUES (?, ?, ?)
            ON CONFLICT(className) DO UPDATE SET rowCount = stagedClasses.rowCount + excluded.rowCount,
            bytes = stagedClasses.bytes + excluded.bytes
            """, [.text(className), .int(rows), .int(bytes)])
        try forgetOutcome(in: transaction)
    }

    private static func list(_ ids: [String]) -> SQLValue {
        .text(JSON.array(ids.map(JSON.string)).serializedText)
    }

    // MARK: Reading

    static func classes(in store: ObjectReader) throws -> [Class] {
        try store.rows("SELECT className, definition, rowCount, bytes FROM stagedClasses ORDER BY className").map {
            Class(
                name: try $0.text(0), definition: try $0[1].textValue.map { try JSON(parsing: $0) },
                rows: try $0.int(2), bytes: try $0.int(3))
        }
    }

    /// Staged rows in the order of their ids.
    static func rows(
        of className: String, after id: String, limit: Int, in store: ObjectReader
    ) throws -> [StagedRow] {
        try store.rows(
            """
            SELECT objectId, updatedAt, body FROM stagedRows WHERE className = ? AND objectId > ?
            ORDER BY objectId LIMIT ?
            """, [.text(className), .text(id), .int(Int64(limit))]
        ).map { StagedRow(objectId: try $0.text(0), updatedAt: try $0.int(1), text: try $0.blob(2)) }
    }

    static let listedMax = 50_000

    /// Lines of id, time and checksum, in the order of the ids.
    static func list(
        of className: String, after id: String, limit: Int, in store: ObjectReader
    ) throws -> [UInt8] {
        let rows = try store.rows(
            """
            SELECT objectId, updatedAt, checksum FROM stagedRows WHERE className = ? AND objectId > ?
            ORDER BY objectId LIMIT ?
            """, [.text(className), .text(id), .int(Int64(limit))])
        var text: [UInt8] = []
        for row in rows { text += "\(try row.text(0))\t\(try row.int(1))\t\(try row.text(2))\n".utf8 }
        return text
    }

    /// The members of a relation that clients see, in the order of the owners' ids and then their own.
    static func members(
        of relation: StagedRelation, after id: String, limit: Int, in store: ObjectReader
    ) throws -> [UInt8] {
        let last = StagedRelation.members(id) ?? (owner: "", member: "")
        let rows = try store.rows(
            """
            SELECT owner, target FROM relations WHERE class = (SELECT id FROM classes WHERE name = ?) AND key = ?
            AND (owner > ? OR (owner = ? AND target > ?)) ORDER BY owner, target LIMIT ?
            """,
            [
                .text(relation.className), .text(relation.field), .text(last.owner), .text(last.owner),
                .text(last.member), .int(Int64(limit)),
            ])
        var text: [UInt8] = []
        for row in rows { text += "\(try row.text(0)):\(try row.text(1))\n".utf8 }
        return text
    }

    // MARK: State

    /// The last outcome; nil when there is none, or when what is staged changed since.
    static func outcome(in store: ObjectReader) throws -> MoveOutcome? {
        guard let row = try store.rows("SELECT phase, applied, failed, failures FROM moveState").first else {
            return nil
        }
        return MoveOutcome(
            phase: try row.text(0), applied: try row.int(1), failed: try row.int(2),
            failures: try JSON(parsing: row.text(3)).arrayValue ?? [])
    }

    static func forgetOutcome(in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM moveState")
    }

    static func note(_ outcome: MoveOutcome, in transaction: StoreTransaction) throws {
        try forgetOutcome(in: transaction)
        try transaction.execute(
            "INSERT INTO moveState(phase, applied, failed, failures) VALUES (?, ?, ?, ?)",
            [
                .text(outcome.phase), .int(outcome.applied), .int(outcome.failed),
                .text(JSON.array(outcome.failures).serializedText),
            ])
    }
}

/// How a switch or a rehearsal ended.
struct MoveOutcome: Sendable {
    /// `staged`, `switched` or `failed`, as `GET /moves` shows it.
    var phase = "staged"
    /// Rows that were applied, or would be.
    var applied: Int64 = 0
    var failed: Int64 = 0
    /// The first refusals: `className`, `objectId`, `code` and `error`.
    private(set) var failures: [JSON] = []

    private static let listedMax = 100

    /// Adds a refusal; of the class itself when the id is empty.
    mutating func refuse(_ className: String, _ objectId: String, _ error: ParseError) {
        failed += 1
        guard failures.count < Self.listedMax else { return }
        failures.append([
            "className": .string(className), "objectId": .string(objectId), "code": .int(Int64(error.code.rawValue)),
            "error": .string(error.message),
        ])
    }
}
