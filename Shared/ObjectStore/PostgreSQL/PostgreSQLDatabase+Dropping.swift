import PostgreSQL

extension PostgreSQLDatabase {
    /// Removes the schema with everything in it.
    /// - Throws: `StoreError`, also when somebody still uses it after some seconds.
    package func drop() throws {
        let connection = try PostgreSQLStoreConnection(self)
        defer { connection.close() }
        try connection.executeOnce("SET lock_timeout = '5s'")
        try connection.executeOnce("DROP SCHEMA IF EXISTS \(quoted(schema)) CASCADE")
    }
}
