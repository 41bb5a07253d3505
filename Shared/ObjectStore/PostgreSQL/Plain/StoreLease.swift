import Foundation
import ParseProtocol
import PostgreSQL

/// The right to write a schema of a server that has no lock of a session (`Dialect.plain`): a row with the name of who
/// has it and the time until which it is nobody else's, by the server's clock.
///
/// The time only says when another process may try. That nobody writes without the right is `StoreFence`'s to see.
struct StoreLease {
    /// Names this process.
    let holder: String

    /// Milliseconds that a lease lasts. Its holder renews it four times as often.
    static let lasts: Int64 = 10_000
    static let renewedEvery = Duration.milliseconds(lasts / 4)

    init() { holder = UUID().uuidString }

    private static let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    /// Makes the schema and the row, as whoever comes first.
    /// - Throws: `StoreError`, also where two do so at once.
    static func prepare(_ schema: String, _ connection: PostgreSQLStoreConnection) throws {
        if try !connection.hasSchema(schema) {
            try connection.executeOnce("CREATE SCHEMA IF NOT EXISTS \(quoted(schema))")
        }
        guard try !connection.hasTable("storeLease") else { return }
        try connection.executeOnce(
            """
            CREATE TABLE IF NOT EXISTS storeLease(
                id int PRIMARY KEY CHECK (id = 1), holder text NOT NULL, expires bigint NOT NULL)
            """)
        try connection.execute("INSERT INTO storeLease(id, holder, expires) VALUES (1, '', 0) ON CONFLICT DO NOTHING")
    }

    /// Takes the lease, or renews it.
    /// - Returns: false while it is another's.
    func take(_ connection: PostgreSQLStoreConnection) throws -> Bool {
        try connection.execute(
            """
            UPDATE storeLease SET holder = ?1, expires = \(Self.now) + ?2::bigint \
            WHERE id = 1 AND (holder = ?1 OR expires < \(Self.now))
            """, [.text(holder), .int(Self.lasts)])
        return connection.changes == 1
    }

    /// - Returns: false when it is another's.
    func renew(_ connection: PostgreSQLStoreConnection) throws -> Bool {
        try connection.execute(
            "UPDATE storeLease SET expires = \(Self.now) + ?::bigint WHERE id = 1 AND holder = ?",
            [.int(Self.lasts), .text(holder)])
        return connection.changes == 1
    }

    /// Gives it back, so that another one need not wait.
    func release(_ connection: PostgreSQLStoreConnection) throws {
        try connection.execute("UPDATE storeLease SET expires = 0 WHERE id = 1 AND holder = ?", [.text(holder)])
    }
}

/// Renews a lease while its holder is at work, by a thread and a connection of its own: what keeps the writer busy for
/// long, such as a start that changes every object, must not make it look dead.
final class LeaseKeeper: @unchecked Sendable {
    private let lease: StoreLease
    private let database: PostgreSQLDatabase
    private let condition = NSCondition()
    private var isStopped = false

    init(_ lease: StoreLease, _ database: PostgreSQLDatabase) {
        self.lease = lease
        self.database = database
        let thread = Thread { [self] in run() }
        thread.name = "store-lease"
        thread.start()
    }

    /// Renews no more. What is under way may still be done.
    func stop() {
        condition.withLock {
            isStopped = true
            condition.signal()
        }
    }

    private func run() {
        var connection: PostgreSQLStoreConnection?
        defer { connection?.close() }
        while waits() {
            do {
                let open = try connection ?? PostgreSQLStoreConnection(database)
                connection = open
                // Another's by now: the fence tells the writer.
                guard try lease.renew(open) else { return }
            } catch {
                connection?.close()
                connection = nil
            }
        }
    }

    /// - Returns: false when it was stopped.
    private func waits() -> Bool {
        condition.withLock {
            let end = Date(timeIntervalSinceNow: StoreLease.renewedEvery / .seconds(1))
            while !isStopped, condition.wait(until: end) {}
            return !isStopped
        }
    }
}

/// The look of a transaction at whose turn it is to write. It holds the row until it ends, so that nobody's turn begins
/// while it is under way; after that it finds that its own is over.
final class StoreFence {
    private let term: Int64
    private let path: String
    private let statement: PostgreSQLStoreStatement

    init(_ term: Int64, _ path: String, _ connection: PostgreSQLStoreConnection) {
        self.term = term
        self.path = path
        statement = PostgreSQLStoreStatement(
            "SELECT writer FROM storeState WHERE id = 1 AND writer = $1::bigint FOR SHARE", connection)
    }

    /// Asks; the answer comes with what follows.
    func send() throws {
        try statement.bind(term, at: 1)
        try statement.send()
    }

    /// Asks for what stands in no transaction.
    /// - Throws: `DatabaseRefused` when another process writes by now.
    func check() throws {
        try send()
        try require()
    }

    /// - Throws: `DatabaseRefused` when another process writes by now.
    func require() throws {
        defer { statement.reset() }
        guard try statement.step() else { throw PostgreSQLWriter.replaced(path) }
    }
}
