import PostgreSQL
import TestSupport

/// Connections of the tests. Those to the shared database make only temporary tables there.
enum Connections {
    private static let database = Task { try await PostgreSQLServer.shared.newDatabase() }

    /// The connection string of the shared database.
    static var string: String { get async throws { try await database.value } }

    /// A connection to the shared database.
    static func shared(_ settings: [String: String] = [:]) async throws -> PostgreSQLConnection {
        try PostgreSQLConnection(PostgreSQLTarget(await string, settings: settings))
    }

    /// Two connections to a database of their own.
    static func pair() async throws -> (PostgreSQLConnection, PostgreSQLConnection) {
        let target = PostgreSQLTarget(try await PostgreSQLServer.shared.newDatabase())
        return (try PostgreSQLConnection(target), try PostgreSQLConnection(target))
    }
}

/// The error that `body` ends with; nil when it ends well.
func failure<T>(_ body: () throws -> T) -> PostgreSQLError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? PostgreSQLError
    }
}
