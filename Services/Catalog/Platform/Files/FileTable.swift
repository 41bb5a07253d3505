import ObjectStore
import ParseProtocol

/// The table of files, with what is known of each. The row makes a file exist: it is written when the content is safely
/// on the disk.
package enum FileTable {
    package struct Entry: Sendable {
        package let name: String
        package let contentType: String
        package let size: Int
        /// The user who uploaded it, empty for a client without one; nil for the master key.
        var owner: String?
        /// `{"metadata":{…},"tags":{…}}` as JSON text, or empty.
        var metadata: String

        package init(name: String, contentType: String, size: Int, owner: String? = nil, metadata: String = "") {
            self.name = name
            self.contentType = contentType
            self.size = size
            self.owner = owner
            self.metadata = metadata
        }
    }

    /// Names are never used twice, so that a row that is there is the same file's.
    static func add(_ entry: Entry, in transaction: StoreTransaction) throws {
        try transaction.execute(
            """
            INSERT INTO files(name, contentType, size, owner, metadata, createdAt) VALUES(?, ?, ?, ?, ?, ?) \
            ON CONFLICT DO NOTHING
            """,
            [
                .text(entry.name), .text(entry.contentType), .int(Int64(entry.size)),
                entry.owner.map(SQLValue.text) ?? .null, .text(entry.metadata),
                .int(transaction.now.milliseconds),
            ])
    }

    static func find(_ name: String, in reader: some ObjectReading) throws -> Entry? {
        let rows = try reader.rows("SELECT contentType, size, metadata FROM files WHERE name = ?", [.text(name)])
        return try rows.first.map { row in
            try Entry(
                name: name, contentType: row.text("contentType"), size: Int(row.int("size")),
                metadata: row.text("metadata"))
        }
    }

    /// The number of an owner's files, and their bytes.
    static func usage(of owner: String, in reader: some ObjectReading) throws -> (count: Int, bytes: Int) {
        let row = try reader.rows(
            "SELECT count(*) AS n, ifnull(sum(size), 0) AS bytes FROM files WHERE owner = ?", [.text(owner)]
        ).first
        return (Int(try row?.int("n") ?? 0), Int(try row?.int("bytes") ?? 0))
    }

    /// The bytes of all files that clients uploaded. Walks an index of them.
    static func clientBytes(in reader: some ObjectReading) throws -> Int {
        let rows = try reader.rows("SELECT ifnull(sum(size), 0) AS bytes FROM files WHERE owner IS NOT NULL", [])
        return Int(try rows.first?.int("bytes") ?? 0)
    }

    /// - Returns: false when there is no such file.
    static func remove(_ name: String, in transaction: StoreTransaction) throws -> Bool {
        // The gateway has copies.
        transaction.noteChange(ofClass: ChangeSubject.filesClass, name)
        return try transaction.execute("DELETE FROM files WHERE name = ?", [.text(name)]) > 0
    }

    /// The names, of those given, that have no row.
    static func unknown(_ names: [String], in reader: some ObjectReading) throws -> [String] {
        try names.filter { try reader.rows("SELECT 1 FROM files WHERE name = ?", [.text($0)]).isEmpty }
    }
}
