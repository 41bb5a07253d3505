import ObjectStore
import ParseProtocol

/// The table of files and their metadata. The row makes a file visible; it is written when the content is stored
/// durably.
package enum FileTable {
    package struct Entry: Sendable {
        package let name: String
        package let contentType: String
        package let size: Int
        /// The user who uploaded it; empty for a client without a user; nil for the master key.
        var owner: String?
        /// `{"metadata":{…},"tags":{…}}` as JSON text, or empty.
        package var metadata: String
        /// True when the bucket has the content, false when the disk does.
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

    /// Names are never reused, so an existing row belongs to the same file.
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
        if entry.inBucket { try BucketDeletions.remove(entry.name, in: transaction) }
    }

    package static func find(_ name: String, in reader: ObjectReader) throws -> Entry? {
        try reader.rows("SELECT * FROM files WHERE name = ?", [.text(name)]).first.map(entry)
    }

    private static func entry(_ row: SQLRow) throws -> Entry {
        try Entry(
            name: row.text("name"), contentType: row.text("contentType"), size: Int(row.int("size")),
            metadata: row.text("metadata"), inBucket: row.int("inBucket") != 0)
    }

    /// The photos that the storefront stored for an account.
    /// - Parameter name: of one photo; nil for all.
    static func accountPhotos(
        of owner: String, named name: String? = nil, in reader: ObjectReader
    ) throws -> [String] {
        let names =
            if let name {
                try reader.rows("SELECT name FROM files WHERE name = ? AND owner = ?", [.text(name), .text(owner)])
            } else {
                try reader.rows("SELECT name FROM files WHERE owner = ?", [.text(owner)])
            }
        return try names.map { try $0.text("name") }.filter { FileNames.isAccountPhoto($0) }
    }

    /// The number and total bytes of an owner's files.
    static func usage(of owner: String, in reader: ObjectReader) throws -> (count: Int, bytes: Int) {
        let row = try reader.rows(
            "SELECT count(*) AS n, coalesce(sum(size), 0) AS bytes FROM files WHERE owner = ?", [.text(owner)]
        ).first
        return (Int(try row?.int("n") ?? 0), Int(try row?.int("bytes") ?? 0))
    }

    /// The total bytes of all files that clients uploaded. Walks their index.
    static func clientBytes(in reader: ObjectReader) throws -> Int {
        let rows = try reader.rows("SELECT coalesce(sum(size), 0) AS bytes FROM files WHERE owner IS NOT NULL", [])
        return Int(try rows.first?.int("bytes") ?? 0)
    }

    /// - Returns: false when there is no such file.
    package static func remove(_ name: String, in transaction: StoreTransaction) throws -> Bool {
        // Invalidates the gateway's cache entries.
        transaction.noteChange(ofClass: ChangeSubject.filesClass, name)
        guard let row = try transaction.rows("DELETE FROM files WHERE name = ? RETURNING inBucket", [.text(name)]).first
        else { return false }
        if try row.int("inBucket") != 0 {
            try BucketDeletions.add(name, after: .zero, in: transaction)
        } else {
            // The mover may be copying the file into the bucket.
            try BucketDeletions.makeDue(name, in: transaction)
        }
        return true
    }

    /// Those of the given names whose content does not belong on the disk: it has no row, or it is in the bucket.
    package static func strangers(_ names: [String], in reader: ObjectReader) throws -> [String] {
        try names.filter {
            try reader.rows("SELECT 1 FROM files WHERE name = ? AND inBucket = 0", [.text($0)]).isEmpty
        }
    }

    // MARK: - Places

    /// Whether any file's content is in a bucket. Uses an index, which is empty when no bucket was ever used.
    package static func hasBucketFiles(in reader: ObjectReader) throws -> Bool {
        try !reader.rows("SELECT 1 FROM files WHERE inBucket = 1 LIMIT 1", []).isEmpty
    }

    /// The next files by name, in any location.
    package static func page(after name: String, limit: Int, in reader: ObjectReader) throws -> [Entry] {
        try reader.rows("SELECT * FROM files WHERE name > ? ORDER BY name LIMIT ?", [.text(name), .int(Int64(limit))])
            .map(entry)
    }

    /// Records a file's new location.
    /// - Returns: false when there is no such file, or the location was already recorded.
    package static func place(_ name: String, inBucket: Bool, in transaction: StoreTransaction) throws -> Bool {
        try transaction.execute(
            "UPDATE files SET inBucket = ? WHERE name = ? AND inBucket = ?",
            [.int(inBucket ? 1 : 0), .text(name), .int(inBucket ? 0 : 1)]) > 0
    }
}
