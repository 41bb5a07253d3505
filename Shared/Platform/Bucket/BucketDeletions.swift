import ObjectStore
import ParseProtocol

/// The bucket objects to delete, each with a due time. A row is written before the upload of an object. The transaction
/// that adds the object's file removes the row. A crash therefore leaves no untracked object, and no deletion is lost
/// while the bucket is unavailable.
package enum BucketDeletions {
    /// Maximum duration of an upload; an older object without a file is an orphan.
    package static let orphanLife = Duration.seconds(3600)

    /// A presigned URL is valid for at most a week, and its object is kept for twice as long.
    static let waits = StoredWaits("dueAt", of: "bucketDrops", atMost: .seconds(15 * 86_400))

    /// Schedules the deletion of an object; a later call replaces an earlier one.
    package static func add(_ name: String, after life: Duration, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "INSERT INTO bucketDrops(name, dueAt) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET dueAt = excluded.dueAt",
            [.text(name), .int(transaction.now.advanced(by: life).milliseconds)])
    }

    /// Handles a due deletion of a file's object: it is cancelled when the bucket has the file. Otherwise it waits, so
    /// that a removal of the file makes it due.
    package static func keep(_ name: String, in transaction: StoreTransaction) throws {
        // It stays due when the file was removed after the decision.
        guard let file = try FileTable.find(name, in: transaction) else { return }
        if file.inBucket {
            try remove(name, in: transaction)
        } else {
            try add(name, after: orphanLife, in: transaction)
        }
    }

    /// Cancels a scheduled deletion.
    package static func remove(_ name: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM bucketDrops WHERE name = ?", [.text(name)])
    }

    /// Makes a scheduled deletion due now.
    package static func makeDue(_ name: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "UPDATE bucketDrops SET dueAt = ? WHERE name = ?",
            [.int(transaction.now.milliseconds), .text(name)])
    }

    /// The objects whose deletion is due, oldest first.
    package static func due(at now: Timestamp, limit: Int, in reader: ObjectReader) throws -> [String] {
        try reader.rows(
            "SELECT name FROM bucketDrops WHERE dueAt <= ? ORDER BY dueAt LIMIT ?",
            [.int(now.milliseconds), .int(Int64(limit))]
        ).map { try $0.text("name") }
    }

    /// What to do with an object that is due.
    package enum Decision: Equatable {
        /// The object is a file's content.
        case keep
        case remove
    }

    /// - Parameters:
    ///   - file: the file with that name; nil when there is none.
    ///   - isOnDisk: whether the disk has the complete content.
    package static func decision(
        file: FileTable.Entry?, isOnDisk: Bool, moves: BucketConfiguration.Moves
    ) -> Decision {
        guard let file else { return .remove }
        // Keeps an object that the mover is about to write again. Also keeps it when the disk has lost the content, for
        // example after a restore: the bucket may then hold the only copy.
        return !file.inBucket && moves != .into && isOnDisk ? .remove : .keep
    }
}
