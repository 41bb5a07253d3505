import Logging

/// Migrates a database to the form that this program knows, and detects a database that a newer program wrote.
struct Migrator: Sendable {
    private let steps: [Migrations.Step]
    private let known: Set<String>

    /// The time limit of one read of a migration. Only startup waits for it.
    private static let readTimeMax = Duration.seconds(3600)

    /// - Parameter lists: run after the object store's own, in this order.
    init(_ lists: [Migrations]) {
        steps = Migrations.objectStore.steps + lists.flatMap { $0.steps }
        known = Set(steps.map { $0.identifier })
        precondition(known.count == steps.count, "Two lists of migrations have one owner.")
    }

    /// The identifiers of the migrations that the database records. Empty for a new one, and for one of a release that
    /// had no migrations.
    private static func recorded(in connection: any StoreConnection) throws -> Set<String> {
        guard try connection.hasTable(StoreMigration.migrationTable) else { return [] }
        let rows = try connection.rows("SELECT identifier FROM \(StoreMigration.migrationTable)")
        return Set(try rows.map { try $0.text(0) })
    }

    /// Checks a database before anything is written to it.
    /// - Throws: `DatabaseRefused` when it records a migration that this program does not know.
    func requireKnown(in connection: any StoreConnection, _ path: String) throws {
        let unknown = try Self.recorded(in: connection).subtracting(known).sorted()
        guard !unknown.isEmpty else { return }
        throw DatabaseRefused(
            path,
            """
            was written by a newer release: it records \(unknown.joined(separator: ", ")), which this one does not know.
            """,
            "Start that release again, or restore a copy from before the upgrade (docs/guides/upgrading.md).")
    }

    /// Whether the database has everything that this program's reads need.
    func isDone(in connection: any StoreConnection) throws -> Bool {
        known.isSubset(of: try Self.recorded(in: connection))
    }

    /// Runs the migrations that the database does not record. Each runs in its own transaction, together with its
    /// record.
    /// - Throws: `DatabaseRefused` for a migration that fails, whose changes are rolled back; `StoreError` when the
    ///   disk is full or fails.
    func migrate(_ connection: any StoreConnection, _ settings: WriterThread.Settings, _ logger: Logger) throws {
        let recorded = try Self.recorded(in: connection)
        let missing = steps.filter { !recorded.contains($0.identifier) }
        guard !missing.isEmpty else { return }
        do {
            try connection.migrate(
                missing.map { step in
                    StoreMigration.Step(identifier: step.identifier) { try Self.run(step.change, on: $0, settings) }
                })
        } catch let failure as StoreMigration.StepFailed {
            if StorageTrouble(failure.reason) != nil { throw failure.reason }
            throw DatabaseRefused(
                settings.path,
                """
                cannot be brought to this release: its migration \(failure.identifier) failed and was undone \
                (\(failure.reason)).
                """,
                "Go back to the release before, and report it (docs/guides/upgrading.md).")
        }
        let names = missing.map(\.identifier).joined(separator: ", ")
        logger.notice(
            "store.migrated",
            metadata: ["store.path": "\(settings.path)", "store.migrations": "\(names)"])
    }

    private static func run(
        _ change: Migration.Change, on connection: any StoreConnection, _ settings: WriterThread.Settings
    ) throws {
        switch change {
        case .statements(let statements):
            for statement in statements(connection.dialect) { try connection.executeOnce(statement) }
        case .code(let code):
            let transaction = StoreTransaction(
                connection: connection, schema: try Schema.load(connection), settings: settings)
            defer { transaction.releaseStatements() }
            transaction.timeLimit = readTimeMax
            try code(transaction)
        }
    }
}
