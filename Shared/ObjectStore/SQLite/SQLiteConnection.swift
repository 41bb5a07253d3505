import CSQLite
import Dispatch
import Foundation
import ParseProtocol

/// The durability of a commit at the time it is acknowledged.
public enum Synchronous: String, Sendable {
    /// On the disk: it survives a power failure.
    case full = "FULL"
    /// The commit survives the end of the process. A power failure may lose the last commits, but never changes their
    /// order.
    case normal = "NORMAL"
}

/// A SQLite connection with its cached statements. One thread uses it at a time
/// (https://www.sqlite.org/threadsafe.html, multi-thread mode).
final class SQLiteConnection: StoreConnection {
    private let handle: OpaquePointer
    private var isOpen = true
    private var statements: [String: SQLiteStatement] = [:]
    let dialect = Dialect.sqlite
    let timeLimit = TimeLimit()
    /// The size of the log; only on the writing connection.
    let log = LogMeter()
    /// Accept only queries that were quick before; set while other clients send slow ones to this thread.
    var acceptsOnlyQuick = false
    var quickQueries: QuickQueries?
    var queried: [String]?

    /// Milliseconds to wait for another connection's lock.
    private static let busyMilliseconds: Int32 = 5000

    /// Limit of cached statements. Clients choose the shapes of queries, so the cache needs a limit.
    static let statementsMax = 256
    /// Longer SQL is not cached: it is rare, and a prepared statement takes many times the memory of its text.
    static let cachedBytesMax = 16_384

    /// Limit of a value's or row's bytes, 64 MiB: twice the largest response. SQLite's own limit is 1 GB.
    static let valueBytesMax: Int32 = 67_108_864

    /// Limit of the bytes of a savepoint's pages in memory: 30 pages. SQLite's default is 64 KiB. Beyond the limit, all
    /// savepoint pages of that commit go to a temporary file, with two system calls per page and savepoint. A placed
    /// order changes more pages, so its job has no savepoint at first (`seldomFails`). SQLite first writes the pages in
    /// memory to that file in one piece, and its unixWrite accepts less than 128 KiB: with a higher limit it reports a
    /// full disk.
    private static let savepointBytesMax: Int32 = 126_976

    /// Set before the first connection of the process (https://www.sqlite.org/c3ref/config.html). SQLite refuses it if
    /// other code in the process already used SQLite; this only costs time and memory.
    private static let isConfigured: Bool =
        satchel_keep_savepoints_in_memory(savepointBytesMax) == SQLITE_OK
        && satchel_allocate_pages_when_used() == SQLITE_OK
        && satchel_keep_no_memory_statistics() == SQLITE_OK

    /// The path of a database in memory.
    static let inMemory = ":memory:"

    /// - Parameter synchronous: makes this the writing connection, which creates a missing file; nil opens read-only.
    /// - Throws: `StoreError`, also for a file that is not a database.
    init(path: String, writing synchronous: Synchronous?) throws {
        _ = SQLiteConnection.isConfigured
        handle = try SQLiteConnection.open(path, isWriting: synchronous != nil)
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, SQLiteConnection.busyMilliseconds)
        satchel_take_quotes_for_names(handle)
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, SQLiteConnection.valueBytesMax)
        // SQLite reads the file only when it is first used.
        try executeOnce("SELECT 1 FROM sqlite_master LIMIT 1")
        let isInMemory = path == SQLiteConnection.inMemory
        if let synchronous, !isInMemory {
            try beginLog(path, synchronous)
        } else {
            try executeOnce("PRAGMA cache_size = -2000; PRAGMA mmap_size = 268435456")
        }
        Regex.register(on: handle, timeLimit)
        RowSet.register(on: handle)
        WordSearch.register(on: handle, timeLimit)
        GeoFunctions.register(on: handle, timeLimit)
        timeLimit.install(on: handle)
        if synchronous != nil, !isInMemory { log.install(on: handle) }
    }

    deinit { close() }

    /// Releases every statement and closes the file. The connection is unusable afterwards.
    func close() {
        guard isOpen else { return }
        isOpen = false
        statements = [:]
        // If a statement is still referenced, SQLite closes the connection when that statement is released.
        sqlite3_close_v2(handle)
    }

    private static func open(_ path: String, isWriting: Bool) throws -> OpaquePointer {
        let access = isWriting ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, access | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let handle else {
            defer { sqlite3_close_v2(handle) }
            throw handle.map { SQLiteStatement.error(code, $0) }
                ?? StoreError(resultCode: code, message: "no connection")
        }
        return handle
    }

    /// Sets up the write-ahead log (https://www.sqlite.org/wal.html).
    /// Between commits it is copied into the database file (`CheckpointPolicy`). After a burst its file shrinks to 64
    /// MB.
    private func beginLog(_ path: String, _ synchronous: Synchronous) throws {
        try executeOnce(
            """
            PRAGMA wal_autocheckpoint = 0;
            PRAGMA journal_size_limit = 67108864;
            PRAGMA cache_size = -16000;
            PRAGMA synchronous = \(synchronous.rawValue);
            """)
        guard try rows("PRAGMA journal_mode = WAL").first?.text(0) == "wal" else {
            throw StoreError(resultCode: SQLITE_ERROR, message: "the write-ahead log cannot be used")
        }
        // A read-only connection can open the file only if a log exists.
        var status = stat()
        guard stat(path + "-wal", &status) != 0 || status.st_size == 0 else { return }
        try executeOnce("BEGIN IMMEDIATE; CREATE TABLE begins(id INTEGER PRIMARY KEY); DROP TABLE begins; COMMIT")
    }

    /// Copies the log into the database file, outside of transactions. PASSIVE
    /// (https://www.sqlite.org/c3ref/wal_checkpoint_v2.html) stops at pages whose older version a reader still needs.
    /// RESTART waits for the readers and then copies everything.
    func copyLog() throws {
        let patience = log.copying.patience
        let mode = patience > 0 ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE
        if patience > 0 { sqlite3_busy_timeout(handle, Int32(patience)) }
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil)
        if patience > 0 { sqlite3_busy_timeout(handle, SQLiteConnection.busyMilliseconds) }
        log.copying.wasCopied(hasWaited: patience > 0)
        guard code == SQLITE_OK || code == SQLITE_BUSY else { throw SQLiteStatement.error(code, handle) }
    }

    /// The prepared statement for this SQL, ready to be bound.
    func statement(_ sql: String) throws -> any StoreStatement { try prepared(sql) }

    private func prepared(_ sql: String) throws -> SQLiteStatement {
        if let statement = statements[sql] { return statement }
        let statement = try SQLiteStatement(sql, handle)
        if sql.utf8.count > SQLiteConnection.cachedBytesMax { return statement }
        statements.makeRoom(limit: SQLiteConnection.statementsMax)
        statements[sql] = statement
        return statement
    }

    /// The prepared statement of a client's query.
    /// - Throws: `ReadOverrun` for a query that was not quick before, while `acceptsOnlyQuick` is set.
    func query(_ sql: String) throws -> any StoreStatement {
        if acceptsOnlyQuick, statements[sql]?.isKnownQuick != true,
            statements[sql]?.wasSlow == true || quickQueries?.knows(sql) != true
        {
            timeLimit.decline()
            throw ReadOverrun()
        }
        queried?.append(sql)
        let statement = try prepared(sql)
        statement.uses += 1
        return statement
    }

    /// Runs a statement without caching it.
    func executeOnce(_ sql: String) throws {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteStatement.error(code, handle) }
    }

    func beginReading() throws { try execute("BEGIN") }

    func beginWriting() throws { try execute("BEGIN IMMEDIATE") }

    /// Calls of Satchel's SQL functions since the connection was opened.
    var functionCalls: Int { timeLimit.functionCalls }

    var changes: Int { Int(sqlite3_changes64(handle)) }
    /// Rows changed since the connection was opened.
    var totalChanges: Int64 { sqlite3_total_changes64(handle) }
    /// False when SQLite itself rolled the transaction back, as it does when the disk is full.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Runs one statement that is interrupted after `limit`, also where SQLite calls no progress handler: SQLite 3.40
    /// reads all pages for `quick_check` before it calls one.
    /// - Throws: `StoreError.isInterruption` when the time is over.
    func interrupted<T>(after limit: Duration, _ body: () throws -> T) throws -> T {
        let queue = DispatchQueue(label: "store-interrupt")
        nonisolated(unsafe) let handle = handle
        let interruption = DispatchWorkItem { sqlite3_interrupt(handle) }
        queue.asyncAfter(deadline: .now() + limit / .seconds(1), execute: interruption)
        defer {
            interruption.cancel()
            // Waits for one that has begun: the connection may be closed next.
            queue.sync {}
        }
        return try body()
    }

    /// Runs reads that are interrupted after `limit`.
    /// - Throws: `.timeout` (124) when the time is over.
    func limited<T>(to limit: Duration, _ body: () throws -> T) throws -> T {
        let isOuter = timeLimit.start(limit)
        defer { if isOuter { timeLimit.stop() } }
        do {
            return try body()
        } catch let error as StoreError where error.isInterruption {
            throw timeLimit.error
        }
    }
}

// MARK: - The schema

extension SQLiteConnection {
    /// `PRAGMA user_version`, which readers can check cheaply.
    func generation() throws -> Int64 {
        let statement = try statement("PRAGMA user_version")
        defer { statement.reset() }
        return try statement.step() ? statement.int(0) : 0
    }

    func setGeneration(_ generation: Int64) throws { try executeOnce("PRAGMA user_version = \(generation)") }

    func usedBytes() throws -> Int64? {
        try rows(
            """
            SELECT (pages.page_count - free.freelist_count) * size.page_size AS bytes
            FROM pragma_page_count AS pages, pragma_freelist_count AS free, pragma_page_size AS size
            """
        ).first?.int("bytes")
    }

    func hasTable(_ name: String) throws -> Bool {
        try !rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [.text(name)]).isEmpty
    }

    func indexNames(of table: String) throws -> [String] {
        try rows(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", [.text(table)]
        ).map { try $0.text(0) }
    }

    func createIndex(_ name: String, on table: String, columns: [SortedColumn], isUnique: Bool) throws {
        let list = columns.map { $0.column + ($0.isDescending ? " DESC" : "") }.joined(separator: ", ")
        try executeOnce("CREATE \(isUnique ? "UNIQUE " : "")INDEX \(name) ON \(table)(\(list))")
    }

    func dropIndex(_ name: String) throws { try executeOnce("DROP INDEX IF EXISTS \(name)") }

    /// SQLite drops a table's indexes with the table.
    func forgetIndexes(of table: String) throws {}

    func createClassTables(_ id: Int64) throws {
        try executeOnce(
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
    }

    /// The columns are parsed from Satchel's own CREATE INDEX statements.
    func indexColumns() throws -> [String: [[String]]] {
        let rows = try rows(
            """
            SELECT tbl_name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name GLOB 'o[0-9]*' AND sql IS NOT NULL
            """
        )
        return try rows.reduce(into: [:]) { result, row in
            let sql = try row.text(1)
            guard let start = sql.firstIndex(of: "("), let end = sql.lastIndex(of: ")") else { return }
            let columns = sql[sql.index(after: start)..<end].split(separator: ", ").map {
                String($0.hasSuffix(" DESC") ? $0.dropLast(5) : $0)
            }
            result[try row.text(0), default: []].append(columns)
        }
    }
}
