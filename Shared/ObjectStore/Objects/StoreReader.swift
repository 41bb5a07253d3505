import Foundation
import ParseProtocol

/// A read-only connection. Each belongs to one thread; every read sees all commits made before it.
public final class StoreReader: ObjectReader {
    /// Connects. If necessary, waits for a writer to create the database or to migrate it to this release.
    /// - Parameters:
    ///   - path: the database's name in the log.
    ///   - shapes: records costly queries.
    ///   - reportsSharing: see `ObjectReader.reportsSharing`.
    ///   - isStopped: called while waiting; true ends the wait.
    /// - Throws: `.serviceUnavailable` (2) when the database is not ready after 30 s; `DatabaseRefused` when a newer
    ///   release wrote it, or an earlier one with `SATCHEL_POSTGRESQL=plain`.
    static func open(
        path: String, _ migrator: Migrator, _ shapes: ShapeLog, reportsSharing: Bool, isStopped: () -> Bool,
        connecting: () throws -> any StoreConnection
    ) throws -> StoreReader {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do {
                let connection = try connecting()
                try migrator.requireKnown(in: connection, path)
                try (connection as? PostgreSQLStoreConnection)?.requireNoLease(path)
                let schema = try Schema.load(connection)
                // The writer of a new database sets the generation last.
                if schema.generation > 0, try migrator.isDone(in: connection) {
                    let reader = StoreReader(connection: connection, schema: schema)
                    reader.shapes = shapes
                    reader.reportsSharing = reportsSharing
                    return reader
                }
                connection.close()
            } catch let refusal as DatabaseRefused {
                throw refusal
            } catch {
                // The database does not exist yet, or is not complete yet; in both cases the reader waits.
            }
            guard ContinuousClock.now < deadline, !isStopped() else {
                throw ParseError(.serviceUnavailable, "The database is not ready.")
            }
            Thread.sleep(forTimeInterval: 0.05)
        }
    }

    /// Uses one snapshot for everything in a read: the schema, the page and its count. In WAL mode one transaction also
    /// costs less than the two that it replaces.
    override func reading<T>(_ body: () throws -> T) throws -> T {
        if isReading { return try super.reading(body) }
        return try answered {
            if connection.isInTransaction { try connection.execute("ROLLBACK") }
            isReading = true
            defer {
                isReading = false
                try? connection.execute("COMMIT")
            }
            if let server = connection as? PostgreSQLStoreConnection, let result = try readAhead(server, body) {
                return try result.get()
            }
            if try generationAtBegin() != schema.generation { schema = try Schema.load(connection) }
            return try super.reading(body)
        }
    }

    /// PostgreSQL gets the BEGIN and the request for the schema's number together with the first statement of `body`.
    /// - Returns: nil when `body` has to run again: the schema has changed, or the connection is lost.
    private func readAhead<T>(
        _ server: PostgreSQLStoreConnection, _ body: () throws -> T
    ) throws -> Result<T, any Error>? {
        try server.beginReading()
        try server.sendGeneration()
        let result: Result<T, any Error>
        do {
            result = .success(try super.reading(body))
        } catch {
            // Another run would have no time left.
            if PostgreSQLStoreConnection.isOver(error) { throw error }
            if server.isRevivable { return nil }
            result = .failure(error)
        }
        // The number has come with the first answer; a body without a statement waits here.
        if try super.reading({ try server.sentGeneration() }) == schema.generation { return result }
        if server.isInTransaction { try server.rollback() }
        return nil
    }

    /// Begins a snapshot; retries once if the server closed the idle connection.
    private func generationAtBegin() throws -> Int64 {
        do {
            try connection.beginReading()
            return try connection.generation()
        } catch  where (connection as? PostgreSQLStoreConnection)?.isRevivable == true {
            try connection.beginReading()
            return try connection.generation()
        }
    }

    /// PostgreSQL returns the schema's number with the row, in one round trip and without a transaction. A read that
    /// used an old schema is retried in a snapshot with both the schema and the rows.
    override func readingOnce<T>(_ body: (_ readsGeneration: Bool) throws -> T) throws -> T {
        guard !isReading, let server = connection as? PostgreSQLStoreConnection,
            let result = try readByKnownSchema(server, body)
        else { return try reading { try body(false) } }
        return try result.get()
    }

    /// - Returns: nil when the schema has changed.
    private func readByKnownSchema<T>(
        _ server: PostgreSQLStoreConnection, _ body: (_ readsGeneration: Bool) throws -> T
    ) throws -> Result<T, any Error>? {
        isReading = true
        defer { isReading = false }
        return try answered {
            lastGeneration = nil
            let result = try server.attempted { try super.reading { try body(true) } }
            if case .failure(let error as StoreError) = result, error.isOvertaken { throw error }
            // A read that failed did not return the number.
            let generation = try lastGeneration ?? super.reading { try server.generation() }
            return generation == schema.generation ? result : nil
        }
    }

    /// Retries of a read after conflicts. In PostgreSQL a read-only transaction has a conflict only if a class is
    /// dropped before the read uses its table; its relatives elsewhere too.
    private static let repetitionsMax = 5

    /// Maps a conflict, and a server that cannot be used, to a retryable error.
    private func answered<T>(_ body: () throws -> T) throws -> T {
        do {
            for _ in 0..<Self.repetitionsMax {
                do { return try body() } catch  where isOvertaken(error) { continue }
            }
            return try body()
        } catch let error as StoreError where error.isOvertaken {
            throw ParseError(.serviceUnavailable, "Other requests keep changing the same data. Try again.")
        } catch  where [.unreachable, .noConnection, .readOnlyServer].contains(StorageTrouble(error)) {
            // A server that accepts only reads is none of the service's.
            let isFull = StorageTrouble(error) == .noConnection
            throw ParseError(
                .serviceUnavailable,
                "\((isFull ? StorageTrouble.noConnection : .unreachable).rawValue) Try again.")
        } catch  where [.damaged, .index].contains(StorageTrouble(error)) {
            health?.note(error)
            throw error
        }
    }

    /// Whether a read failed because of another transaction. Tables are not part of snapshots: a missing table may have
    /// belonged to a class of the schema that the read began with.
    private func isOvertaken(_ error: any Error) -> Bool {
        guard let error = error as? StoreError else { return false }
        if error.isOvertaken { return true }
        guard error.mayBeFromInvisible, let generation = try? connection.generation() else { return false }
        return generation != schema.generation
    }

    /// Runs several reads on the same snapshot; together they cost less than separate reads. They share the time limit
    /// of one read.
    /// - Throws: errors of `body`, `.timeout` (124) after the limit.
    public func onOneSnapshot<T>(_ body: () throws -> T) throws -> T { try reading(body) }

    private var isReading = false
    /// Hears of damage that a read finds.
    var health: StorageHealth?

    /// A reader within transactions of others on the same connection.
    convenience init(within connection: any StoreConnection, _ schema: Schema) {
        self.init(connection: connection, schema: schema)
        isReading = true
    }

    /// Runs a read that must not block this thread for long: it may take `slice` of processor time (less than a
    /// second), or up to twice that.
    /// - Parameter onlyQuick: refuses queries that were not quick several times before.
    /// - Returns: nil when it takes longer. Nothing was changed, so it can run again on another thread.
    public func attempt<T>(slice: Duration, onlyQuick: Bool, _ body: () throws -> T) throws -> T? {
        let limit = connection.timeLimit
        limit.begin(.init(nanoseconds: UInt64(slice.components.attoseconds / 1_000_000_000), end: .slice))
        connection.acceptsOnlyQuick = onlyQuick
        defer {
            limit.begin(nil)
            connection.acceptsOnlyQuick = false
        }
        do {
            let result = try body()
            // The body may have ignored the interruption and continued.
            return limit.end == .slice ? nil : result
        } catch  where limit.end == .slice {
            return nil
        }
    }
}
