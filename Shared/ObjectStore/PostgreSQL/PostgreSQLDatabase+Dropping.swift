import PostgreSQL

extension PostgreSQLDatabase {
    /// Why libpq cannot be used; nil when it is loaded.
    package static var libraryProblem: String? { PostgreSQLConnection.libraryProblem }

    /// Removes the schema with everything in it.
    /// - Throws: `StoreError`, also when it is still in use after 5 s.
    package func drop() throws {
        let connection = try PostgreSQLStoreConnection(self)
        defer { connection.close() }
        try connection.executeOnce("SET lock_timeout = '5s'")
        try connection.executeOnce("DROP SCHEMA IF EXISTS \(quoted(schema)) CASCADE")
    }
}
