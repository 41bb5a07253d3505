import ParseProtocol
import PostgreSQL

/// Tables and indexes where they are no part of transactions (`Definitions`).
extension PostgreSQLStoreConnection {
    /// `classTables` has the numbers of classes whose tables are being made, are ready for a class that comes, are left
    /// of one that is dropped, or are gone; `storeProgress` how far a migration is.
    static let plainTables = [
        "CREATE TABLE IF NOT EXISTS classTables(id bigint PRIMARY KEY, state text NOT NULL)",
        "CREATE TABLE IF NOT EXISTS storeProgress(identifier text PRIMARY KEY, done bigint NOT NULL)",
    ]

    private enum TableState: String {
        case making, ready, left, gone

        var value: SQLValue { .text(rawValue) }
    }

    /// Whether what is dropped goes later, beside the writes.
    var leavesDropping: Bool { dialect == .plain && definitions.mode == .before }

    /// Runs a statement that makes, changes or removes something that is no row.
    func define(_ statement: String) throws {
        guard progress == nil else { return try defineNoted(statement) }
        guard isInTransaction else { return try run(alone: statement) }
        guard definitions.mode == .between else { return try definitions.take(statement) }
        try commit()
        try run(alone: statement)
        try beginWriting()
    }

    private func run(alone statement: String) throws {
        if !isInTransaction { try fence?.check() }
        try run { () throws(PostgreSQLError) in try server.execute(script: statement) }
    }

    // MARK: Before a job

    /// Removes what the last transaction left, and makes what it wanted.
    func prepareGroup() throws {
        guard dialect == .plain else { return }
        if definitions.hasLeftIndexes { try dropLeftIndexes() }
        guard definitions.isWanting else { return }
        let (statements, wantsClass) = definitions.takeWanted()
        interruptBuilder()
        for statement in statements {
            do {
                try run(alone: statement)
                definitions.note(statement, nil)
            } catch let error as StoreError where StorageTrouble(error) == nil && !isBroken {
                // One that was overtaken is wanted again.
                if !error.isOvertaken { definitions.note(statement, error) }
            }
        }
        if wantsClass { try makeClassTables() }
    }

    /// Removes indexes that nobody lists: of classes, places and operators that are gone, and such as were made for a
    /// job that came to nothing.
    func dropLeftIndexes() throws {
        guard dialect == .plain else { return }
        definitions.dropLeftIndexes()
        let listed = Set(try rows("SELECT name FROM storeIndexes").map { Self.indexName(try $0.text(0)) })
        for row in try rows("SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()") {
            let name = try row.text(0)
            guard name.wholeMatch(of: /([iux][0-9]+_.*|g[0-9]+)/) != nil, !listed.contains(quoted(name)) else {
                continue
            }
            interruptBuilder()
            try define("DROP INDEX IF EXISTS \(quoted(name))")
        }
    }

    // MARK: Tables of classes

    func takeClassTables() throws -> Int64? {
        guard dialect == .plain else { return nil }
        if definitions.mode == .between, try readyTables() == nil { try makeClassTables() }
        guard let id = try readyTables() else {
            definitions.wantClass()
            throw StoreError.definitionsWanted
        }
        try execute("DELETE FROM classTables WHERE id = ?", [.int(id)])
        return id
    }

    private func readyTables() throws -> Int64? {
        try rows("SELECT min(id) FROM classTables WHERE state = ?", [TableState.ready.value]).first?[0].intValue
    }

    /// Makes the tables of a class that has no name yet.
    private func makeClassTables() throws {
        let last = try rows(
            "SELECT coalesce(max(id), 0) FROM (SELECT id FROM classes UNION ALL SELECT id FROM classTables) AS ids")
        let id = try (last.first?.int(0) ?? 0) + 1
        try execute("INSERT INTO classTables(id, state) VALUES (?, ?)", [.int(id), TableState.making.value])
        try createClassTables(id)
        try execute("UPDATE classTables SET state = ? WHERE id = ?", [TableState.ready.value, .int(id)])
    }

    /// Prepares for jobs: what a writer before this one did not finish is left, and a class can be made at once.
    func beginJobs() throws {
        guard dialect == .plain else { return }
        try execute(
            "UPDATE classTables SET state = ? WHERE state = ?", [TableState.left.value, TableState.making.value])
        if try readyTables() == nil { try makeClassTables() }
        try dropLeftIndexes()
        definitions.mode = .before
    }

    func leaveTables(of info: ClassInfo) throws -> Bool {
        guard leavesDropping else { return false }
        try execute("INSERT INTO classTables(id, state) VALUES (?, ?)", [.int(info.id), TableState.left.value])
        for letter in ["o", "g", "w"] { try forgetIndexes(of: "\(letter)\(info.id)") }
        interruptBuilder()
        return true
    }

    /// The number of a class whose tables are left; nil for none.
    func leftTables() throws -> Int64? {
        guard dialect == .plain else { return nil }
        return try rows("SELECT min(id) FROM classTables WHERE state = ?", [TableState.left.value]).first?[0].intValue
    }

    /// The number is not given again: somebody who was the writer before may still be at its tables.
    func forgetTables(_ id: Int64) throws {
        try execute("UPDATE classTables SET state = ? WHERE id = ?", [TableState.gone.value, .int(id)])
    }

    // MARK: Migrations

    func beginStep(_ identifier: String) throws {
        guard dialect == .plain else { return }
        let done = try rows("SELECT done FROM storeProgress WHERE identifier = ?", [.text(identifier)]).first
        progress = DefinitionProgress(identifier: identifier, done: Int(try done?.int(0) ?? 0))
    }

    func endStep() { progress = nil }

    /// Runs a statement of a migration that was not run before, and notes it: of a table or an index after it, as such
    /// a one is committed at once, else in its transaction.
    private func defineNoted(_ statement: String) throws {
        guard var progress else { return }
        progress.asked += 1
        self.progress = progress
        guard progress.asked > progress.done else { return }
        guard Definitions.isOne(statement) else {
            try run(alone: statement)
            return try note(progress)
        }
        try commit()
        do {
            try run(alone: statement)
        } catch let error as StoreError where progress.isUnsure && DefinitionProgress.repeated.contains(error.sqlState)
        {
            // It was run, and the process ended before it was noted.
        }
        try beginWriting()
        try note(progress)
    }

    private func note(_ progress: DefinitionProgress) throws {
        try execute(
            """
            INSERT INTO storeProgress(identifier, done) VALUES (?, ?) \
            ON CONFLICT(identifier) DO UPDATE SET done = excluded.done
            """, [.text(progress.identifier), .int(Int64(progress.asked))])
    }
}

extension StoreError {
    /// A transaction wants tables or indexes that are made before it is done again.
    static let definitionsWanted = StoreError(sqlState: "40001", message: "tables and indexes are made first")
}
