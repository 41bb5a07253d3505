import ParseProtocol

/// The identity of a database, stored in the database itself: one row.
enum StoreIdentity {
    /// Nil for a database of a release without identities.
    static func read(_ connection: any StoreConnection) throws -> DatabaseCertificate? {
        guard try connection.hasTable("storeIdentity"),
            let row = try connection.rows("SELECT database, generation FROM storeIdentity").first
        else {
            return nil
        }
        return DatabaseCertificate(database: try row.text(0), generation: try row.int(1))
    }

    /// Counts a start. Part of the writer's first transaction.
    static func begin(_ kept: DatabaseCertificate?, _ connection: any StoreConnection) throws -> DatabaseCertificate {
        var certificate = kept ?? DatabaseCertificate(database: Names.random(20), generation: 0)
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

    /// The highest generation next to the identity in the raw bytes of a page; nil if the identity does not occur. The
    /// row's last column follows the text without a gap, and the byte before the text is its serial type
    /// (https://www.sqlite.org/fileformat2.html#record_format). Remains of former rows in the page have lower
    /// generations.
    static func generation(in page: [UInt8], of database: String) -> Int64? {
        let name = Array(database.utf8)
        guard let first = name.first else { return nil }
        var latest: Int64?
        var start = 1
        while let at = page[start...].firstIndex(of: first) {
            start = at + 1
            let end = at + name.count
            guard end <= page.count, page[at..<end].elementsEqual(name), let bytes = integerBytes[page[at - 1]],
                end + bytes <= page.count
            else { continue }
            let found = page[end..<end + bytes].reduce(Int64(0)) { $0 << 8 | Int64($1) }
            latest = max(latest ?? found, found)
        }
        return latest
    }

    /// Bytes of an integer by its serial type.
    private static let integerBytes: [UInt8: Int] = [1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8]
}
