import PostgreSQL
import TestSupport

/// The tests' connections. Those to the shared database create only temporary tables.
enum Connections {
    private static let database = Task { try await PostgreSQLServer.shared.newDatabase() }

    /// The connection string of the shared database.
    static var string: String { get async throws { try await database.value } }

    /// A connection to the shared database.
    static func shared(_ settings: [String: String] = [:]) async throws -> PostgreSQLConnection {
        try PostgreSQLConnection(PostgreSQLTarget(await string, settings: settings))
    }

    /// Two connections to a new database.
    static func pair() async throws -> (PostgreSQLConnection, PostgreSQLConnection) {
        let target = PostgreSQLTarget(try await PostgreSQLServer.shared.newDatabase())
        return (try PostgreSQLConnection(target), try PostgreSQLConnection(target))
    }
}

/// The error that `body` throws; nil when it succeeds.
func failure<T>(_ body: () throws -> T) -> PostgreSQLError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? PostgreSQLError
    }
}
