/// The record of migrations, and a migration as it is run.
enum StoreMigration {
    /// The table in which a database records its migrations. It has the name and form of GRDB's table, because earlier
    /// releases ran migrations with GRDB. Their databases stay usable, and those releases recognise a later one's
    /// migrations.
    static let migrationTable = "grdb_migrations"

    /// One migration as it is run.
    struct Step {
        let identifier: String
        let run: (any StoreConnection) throws -> Void
    }

    /// The failure of a step, with the step's identifier and the cause.
    struct StepFailed: Error {
        let identifier: String
        let reason: any Error
    }
}

extension StoreConnection {
    /// Runs steps in their order. Each has one transaction, which also writes the record.
    /// - Throws: `StepFailed` for an error of a step; `StoreError` when a transaction cannot begin or commit.
    func migrate(_ steps: [StoreMigration.Step]) throws {
        let table = StoreMigration.migrationTable
        try executeOnce("CREATE TABLE IF NOT EXISTS \(table)(identifier TEXT NOT NULL PRIMARY KEY)")
        for step in steps {
            try beginPreparing()
            // SQLite has already rolled it back when the disk is full.
            defer { if isInTransaction { try? executeOnce("ROLLBACK") } }
            do {
                try step.run(self)
            } catch {
                throw StoreMigration.StepFailed(identifier: step.identifier, reason: error)
            }
            try noteMigration()
            try execute("INSERT INTO \(StoreMigration.migrationTable)(identifier) VALUES (?)", [.text(step.identifier)])
            try executeOnce("COMMIT")
        }
    }

    /// Increments the schema number, so that other writing processes notice changed tables. A database without a number
    /// is not ready, and no other process writes it.
    private func noteMigration() throws {
        guard isShared else { return }
        let generation = try generation()
        if generation > 0 { try setGeneration(generation + 1) }
    }
}
