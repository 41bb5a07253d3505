import ObjectStore
import ParseProtocol

/// The objects of the bucket that are to be removed, each when its time has come. A row is written before an object is
/// put there and removed in the transaction that gives the object its file, so that no crash leaves an object that
/// nobody knows, and no removal is forgotten while the bucket is away.
package enum BucketDrops {
    /// The content of a request under way: older than this it is nobody's.
    package static let orphanLife = Duration.seconds(3600)

    /// Notes that an object is to be removed at a moment; a later word replaces an earlier one.
    package static func add(_ name: String, after life: Duration, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "INSERT INTO bucketDrops(name, dueAt) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET dueAt = excluded.dueAt",
            [.text(name), .int(transaction.now.advanced(by: life).milliseconds)])
    }

    /// An object stays.
    package static func remove(_ name: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM bucketDrops WHERE name = ?", [.text(name)])
    }

    /// An object that is noted becomes due at once.
    package static func hasten(_ name: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "UPDATE bucketDrops SET dueAt = ? WHERE name = ?",
            [.int(transaction.now.milliseconds), .text(name)])
    }

    /// The names that are due, the oldest first.
    package static func due(at now: Timestamp, limit: Int, in reader: some ObjectReading) throws -> [String] {
        try reader.rows(
            "SELECT name FROM bucketDrops WHERE dueAt <= ? ORDER BY dueAt LIMIT ?",
            [.int(now.milliseconds), .int(Int64(limit))]
        ).map { try $0.text("name") }
    }

    /// The fate of an object that is due.
    package enum Decision: Equatable {
        /// It is a file's content.
        case keep
        case remove
    }

    /// - Parameters:
    ///   - file: the file of that name; nil when there is none.
    ///   - isOnDisk: whether the disk has all of its content.
    package static func decision(
        file: FileTable.Entry?, isOnDisk: Bool, moves: BucketConfiguration.Moves
    ) -> Decision {
        guard let file else { return .remove }
        // One that is about to move into the bucket is written there again, and one whose content the disk has lost, as
        // after a restore, may have it in the bucket alone.
        return !file.inBucket && moves != .into && isOnDisk ? .remove : .keep
    }
}
