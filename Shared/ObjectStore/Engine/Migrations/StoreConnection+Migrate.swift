/// The record of migrations, and one as it is run.
enum StoreMigration {
    /// The table in which a file records its migrations. It has the name and the form of GRDB's, which ran them in
    /// earlier releases: their files go on, and they know what a later one did.
    static let migrationTable = "grdb_migrations"

    /// One migration as it is run.
    struct Step {
        let identifier: String
        let run: (any StoreConnection) throws -> Void
    }

    /// The failure of a step: which one it was, and why.
    struct StepFailed: Error {
        let identifier: String
        let reason: any Error
    }
}

extension StoreConnection {
    /// Runs steps in their order: one transaction each, which holds the record too.
    /// - Throws: `StepFailed` for what a step throws; `StoreError` when a transaction cannot begin or be committed.
    func migrate(_ steps: [StoreMigration.Step]) throws {
        let table = StoreMigration.migrationTable
        try executeOnce("CREATE TABLE IF NOT EXISTS \(table)(identifier TEXT NOT NULL PRIMARY KEY)")
        for step in steps {
            try beginStep(step.identifier)
            try beginPreparing()
            // SQLite itself has ended it when the disk is full.
            defer {
                endStep()
                if isInTransaction { try? executeOnce("ROLLBACK") }
            }
            do {
                try step.run(self)
                endStep()
            } catch {
                throw StoreMigration.StepFailed(identifier: step.identifier, reason: error)
            }
            try noteMigration()
            try execute("INSERT INTO \(StoreMigration.migrationTable)(identifier) VALUES (?)", [.text(step.identifier)])
            try executeOnce("COMMIT")
        }
    }

    /// Lets other processes that write find that tables were changed. A database without a number is not ready, and
    /// written by nobody else.
    private func noteMigration() throws {
        guard isShared else { return }
        let generation = try generation()
        if generation > 0 { try setGeneration(generation + 1) }
    }
}
