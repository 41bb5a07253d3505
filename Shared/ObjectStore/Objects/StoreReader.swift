import Foundation
import ParseProtocol

/// A read-only connection. Each belongs to one thread; every read sees all commits made before it.
public final class StoreReader: ObjectReader {
    /// Connects, and waits for a writer to make the database, or to bring it to this release, when that is not done
    /// yet.
    /// - Parameters:
    ///   - path: the database's name in the log.
    ///   - shapes: where costly queries are written down.
    ///   - tellsSharing: see there.
    ///   - isStopped: asked while waiting; true ends it.
    /// - Throws: `.serviceUnavailable` (2) when there is none after 30 s; `DatabaseRefused` when a newer release wrote
    ///   it.
    static func open(
        path: String, _ migrator: Migrator, _ shapes: ShapeLog, tellsSharing: Bool, isStopped: () -> Bool,
        connecting: () throws -> any StoreConnection
    ) throws -> StoreReader {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do {
                let connection = try connecting()
                try migrator.requireKnown(in: connection, path)
                let schema = try Schema.load(connection)
                // The writer of a new file sets the generation last.
                if schema.generation > 0, try migrator.isDone(in: connection) {
                    let reader = StoreReader(connection: connection, schema: schema)
                    reader.shapes = shapes
                    reader.tellsSharing = tellsSharing
                    return reader
                }
                connection.close()
            } catch let refusal as DatabaseRefused {
                throw refusal
            } catch {
                // Not there yet, or not a database yet: the same to somebody who waits.
            }
            guard ContinuousClock.now < deadline, !isStopped() else {
                throw ParseError(.serviceUnavailable, "The database is not ready.")
            }
            Thread.sleep(forTimeInterval: 0.05)
        }
    }

    /// One snapshot for everything a read does: the schema, the page and its count. In WAL mode a transaction also
    /// costs less than the two it replaces.
    override func reading<T>(_ body: () throws -> T) throws -> T {
        if isReading { return try super.reading(body) }
        return try answered {
            if connection.isInTransaction { try connection.execute("ROLLBACK") }
            isReading = true
            defer {
                isReading = false
                try? connection.execute("COMMIT")
            }
            if try generationAtBegin() != schema.generation { schema = try Schema.load(connection) }
            return try super.reading(body)
        }
    }

    /// Begins a snapshot; once more when the server had ended the connection while nothing was asked of it.
    private func generationAtBegin() throws -> Int64 {
        do {
            try connection.beginReading()
            return try connection.generation()
        } catch  where (connection as? PostgreSQLStoreConnection)?.isRevivable == true {
            try connection.beginReading()
            return try connection.generation()
        }
    }

    /// PostgreSQL tells the schema's number with the row, in one round trip and without a transaction.
    override func readingOnce<T>(_ body: (_ tellsGeneration: Bool) throws -> T) throws -> T {
        guard !isReading, let server = connection as? PostgreSQLStoreConnection else {
            return try reading { try body(false) }
        }
        isReading = true
        defer { isReading = false }
        return try answered {
            toldGeneration = nil
            let result = try server.attempted { try super.reading { try body(true) } }
            // A read that found no row, or failed, was told nothing.
            let generation = try toldGeneration ?? super.reading { try server.generation() }
            if generation == schema.generation { return try result.get() }
            schema = try Schema.load(connection)
            return try super.reading { try body(false) }
        }
    }

    /// Times that a read is done again which others have overtaken. PostgreSQL lets that happen to no transaction that
    /// only reads; its relatives do.
    private static let repetitionsMax = 5

    /// A server that is away is no fault of the read.
    private func answered<T>(_ body: () throws -> T) throws -> T {
        do {
            for _ in 0..<Self.repetitionsMax {
                do { return try body() } catch let error as StoreError where error.isOvertaken { continue }
            }
            return try body()
        } catch let error as StoreError where error.isOvertaken {
            throw ParseError(.serviceUnavailable, "Others change the same all the time. Try again.")
        } catch  where StorageTrouble(error) == .away {
            throw ParseError(.serviceUnavailable, "The database does not answer. Try again.")
        }
    }

    /// Runs several reads that see the same commits, and together cost less than each alone. The time limit of one read
    /// is that of all.
    /// - Throws: what `body` throws, `.timeout` (124) past the limit.
    public func atOneMoment<T>(_ body: () throws -> T) throws -> T { try reading(body) }

    private var isReading = false

    /// Runs a read that must not hold this thread for long: it may take `slice` of processor time, less than a second,
    /// or up to twice that.
    /// - Parameter onlyProven: sends queries elsewhere that were not quick several times before.
    /// - Returns: nil when it takes longer. Nothing was changed, so that it can be run again elsewhere.
    public func attempt<T>(slice: Duration, onlyProven: Bool, _ body: () throws -> T) throws -> T? {
        let limit = connection.timeLimit
        limit.begin(.init(nanoseconds: UInt64(slice.components.attoseconds / 1_000_000_000), end: .slice))
        connection.takesOnlyProven = onlyProven
        defer {
            limit.begin(nil)
            connection.takesOnlyProven = false
        }
        do {
            let result = try body()
            // Somebody may have gone on without what was interrupted.
            return limit.end == .slice ? nil : result
        } catch  where limit.end == .slice {
            return nil
        }
    }
}
