import GRDB

extension Connection {
    /// The table in which a file records its migrations, in the column `identifier`. GRDB names and makes it.
    static let migrationTable = "grdb_migrations"

    /// One migration as it is run.
    struct Step: Sendable {
        let identifier: String
        let run: @Sendable (Connection) throws -> Void
    }

    /// The failure of a step: which one it was, and why.
    struct StepFailed: Error {
        let identifier: String
        let reason: any Error
    }

    /// Runs the steps that the file does not record, in their order, by GRDB's `DatabaseMigrator`: one transaction
    /// each, which holds the record too. Not called inside `exclusively`.
    /// - Throws: `StepFailed` for what a step throws; `StoreError` when a transaction cannot begin or be committed.
    func migrate(_ steps: [Step]) throws {
        var migrator = DatabaseMigrator()
        // GRDB runs the steps one after the other, before its `migrate` returns.
        nonisolated(unsafe) let connection = self
        for step in steps {
            migrator.registerMigration(step.identifier) { _ in
                do {
                    try step.run(connection)
                } catch {
                    throw StepFailed(identifier: step.identifier, reason: error)
                }
            }
        }
        do {
            try migrate(by: migrator)
        } catch let error as DatabaseError {
            throw StoreError(resultCode: error.extendedResultCode.rawValue, message: error.message ?? "migration")
        }
    }
}
