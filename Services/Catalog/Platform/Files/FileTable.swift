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
        /// Whether the bucket has the content, and not the disk.
        package var inBucket: Bool

        package init(
            name: String, contentType: String, size: Int, owner: String? = nil, metadata: String = "",
            inBucket: Bool = false
        ) {
            self.name = name
            self.inBucket = inBucket
            self.contentType = contentType
            self.size = size
            self.owner = owner
            self.metadata = metadata
        }
    }

    /// Names are never used twice, so that a row that is there is the same file's.
    package static func add(_ entry: Entry, in transaction: StoreTransaction) throws {
        try transaction.execute(
            """
            INSERT INTO files(name, contentType, size, owner, metadata, createdAt, inBucket) \
            VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            [
                .text(entry.name), .text(entry.contentType), .int(Int64(entry.size)),
                entry.owner.map(SQLValue.text) ?? .null, .text(entry.metadata),
                .int(transaction.now.milliseconds), .int(entry.inBucket ? 1 : 0),
            ])
        if entry.inBucket { try BucketDrops.remove(entry.name, in: transaction) }
    }

    package static func find(_ name: String, in reader: some ObjectReading) throws -> Entry? {
        try reader.rows("SELECT * FROM files WHERE name = ?", [.text(name)]).first.map(entry)
    }

    private static func entry(_ row: SQLRow) throws -> Entry {
        try Entry(
            name: row.text("name"), contentType: row.text("contentType"), size: Int(row.int("size")),
            metadata: row.text("metadata"), inBucket: row.int("inBucket") != 0)
    }

    /// The number of an owner's files, and their bytes.
    static func usage(of owner: String, in reader: some ObjectReading) throws -> (count: Int, bytes: Int) {
        let row = try reader.rows(
            "SELECT count(*) AS n, coalesce(sum(size), 0) AS bytes FROM files WHERE owner = ?", [.text(owner)]
        ).first
        return (Int(try row?.int("n") ?? 0), Int(try row?.int("bytes") ?? 0))
    }

    /// The bytes of all files that clients uploaded. Walks an index of them.
    static func clientBytes(in reader: some ObjectReading) throws -> Int {
        let rows = try reader.rows("SELECT coalesce(sum(size), 0) AS bytes FROM files WHERE owner IS NOT NULL", [])
        return Int(try rows.first?.int("bytes") ?? 0)
    }

    /// - Returns: false when there is no such file.
    package static func remove(_ name: String, in transaction: StoreTransaction) throws -> Bool {
        // The gateway has copies.
        transaction.noteChange(ofClass: ChangeSubject.filesClass, name)
        guard let row = try transaction.rows("DELETE FROM files WHERE name = ? RETURNING inBucket", [.text(name)]).first
        else { return false }
        if try row.int("inBucket") != 0 {
            try BucketDrops.add(name, after: .zero, in: transaction)
        } else {
            // It may be on its way there.
            try BucketDrops.hasten(name, in: transaction)
        }
        return true
    }

    /// The names, of those given, whose content does not belong on the disk: without a row, or in the bucket.
    package static func strangers(_ names: [String], in reader: some ObjectReading) throws -> [String] {
        try names.filter {
            try reader.rows("SELECT 1 FROM files WHERE name = ? AND inBucket = 0", [.text($0)]).isEmpty
        }
    }

    // MARK: - Places

    /// Whether the content of any file is in a bucket. An index answers, which is empty where there never was one.
    package static func hasBucketFiles(in reader: some ObjectReading) throws -> Bool {
        try !reader.rows("SELECT 1 FROM files WHERE inBucket = 1 LIMIT 1", []).isEmpty
    }

    /// The next files by name, wherever they are.
    package static func page(after name: String, limit: Int, in reader: some ObjectReading) throws -> [Entry] {
        try reader.rows("SELECT * FROM files WHERE name > ? ORDER BY name LIMIT ?", [.text(name), .int(Int64(limit))])
            .map(entry)
    }

    /// Notes that a file's content is elsewhere now.
    /// - Returns: false when there is no such file, or it was noted already.
    package static func place(_ name: String, inBucket: Bool, in transaction: StoreTransaction) throws -> Bool {
        try transaction.execute(
            "UPDATE files SET inBucket = ? WHERE name = ? AND inBucket = ?",
            [.int(inBucket ? 1 : 0), .text(name), .int(inBucket ? 0 : 1)]) > 0
    }
}
