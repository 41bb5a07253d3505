import ParseProtocol

/// The identity of a database, in the file itself: one row.
enum StoreIdentity {
    /// Nil for a database of a release that knew no identities.
    static func read(_ connection: any StoreConnection) throws -> BirthCertificate? {
        guard try connection.hasTable("storeIdentity"),
            let row = try connection.rows("SELECT database, generation FROM storeIdentity").first
        else {
            return nil
        }
        return BirthCertificate(database: try row.text(0), generation: try row.int(1))
    }

    /// Counts a start. Part of the writer's first transaction.
    static func begin(_ kept: BirthCertificate?, _ connection: any StoreConnection) throws -> BirthCertificate {
        var certificate = kept ?? BirthCertificate(database: Names.random(20), generation: 0)
        certificate.generation += 1
        try connection.execute(
            """
            INSERT INTO storeIdentity(id, database, generation) VALUES (1, ?1, ?2)
            ON CONFLICT(id) DO UPDATE SET database = ?1, generation = ?2
            """, [.text(certificate.database), .int(certificate.generation)])
        return certificate
    }

    static func note(_ generation: Int64, _ connection: any StoreConnection) throws {
        try connection.execute("UPDATE storeIdentity SET generation = ?", [.int(generation)])
    }
}
