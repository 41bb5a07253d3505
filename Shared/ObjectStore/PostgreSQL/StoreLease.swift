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

    /// Gives it back, so that another one need not wait.
    func release(_ connection: PostgreSQLStoreConnection) throws {
        try connection.execute("UPDATE storeLease SET expires = 0 WHERE id = 1 AND holder = ?", [.text(holder)])
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

    /// - Throws: `DatabaseRefused` when another process writes by now.
    func require() throws {
        defer { statement.reset() }
        guard try statement.step() else { throw PostgreSQLWriter.replaced(path) }
    }
}
