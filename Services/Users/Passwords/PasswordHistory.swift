import ObjectStore
import ParseProtocol

/// The times at which users chose their passwords, and recent hashes.
package enum PasswordHistory {
    /// - Parameter max: number of kept hashes. The newest is always kept, for its time.
    package static func add(
        _ hash: String, of userId: String, keeping max: Int, in transaction: StoreTransaction
    ) throws {
        try transaction.execute(
            """
            INSERT INTO passwordHistory(userId, chosenAt, hash) VALUES (?, ?, ?)
            ON CONFLICT(userId, chosenAt) DO UPDATE SET hash = excluded.hash
            """, [.text(userId), .int(transaction.now.milliseconds), .text(hash)])
        try transaction.execute(
            """
            DELETE FROM passwordHistory WHERE userId = ?1 AND chosenAt NOT IN
            (SELECT chosenAt FROM passwordHistory WHERE userId = ?1 ORDER BY chosenAt DESC LIMIT ?2)
            """, [.text(userId), .int(Int64(Swift.max(1, max)))])
    }

    /// Takes over a history: the times of the former hashes, oldest first, are not known.
    /// - Parameter chosenAt: of the present hash, which was just set.
    static func take(
        _ former: [String], chosenAt: Timestamp, of userId: String, in transaction: StoreTransaction
    ) throws {
        try transaction.execute(
            "DELETE FROM passwordHistory WHERE userId = ? AND chosenAt <> ?",
            [.text(userId), .int(transaction.now.milliseconds)])
        try transaction.execute(
            "UPDATE passwordHistory SET chosenAt = ? WHERE userId = ?", [.int(chosenAt.milliseconds), .text(userId)])
        for (age, hash) in former.reversed().enumerated() {
            try transaction.execute(
                "INSERT INTO passwordHistory(userId, chosenAt, hash) VALUES (?, ?, ?)",
                [.text(userId), .int(chosenAt.milliseconds - Int64(age) - 1), .text(hash)])
        }
    }

    /// The hashes of recent passwords, the present one first.
    static func hashes(of userId: String, max: Int, _ reader: ObjectReader) throws -> [String] {
        try reader.rows(
            "SELECT hash FROM passwordHistory WHERE userId = ? ORDER BY chosenAt DESC LIMIT ?",
            [.text(userId), .int(Int64(max))]
        ).map { try $0.text("hash") }
    }

    /// The time at which the present password was chosen. If it is not recorded, the time of this call is recorded.
    package static func chosenAt(_ userId: String, in transaction: StoreTransaction) throws -> Timestamp {
        let newest = try transaction.rows(
            "SELECT chosenAt FROM passwordHistory WHERE userId = ? ORDER BY chosenAt DESC LIMIT 1", [.text(userId)]
        ).first
        if let newest { return try Timestamp(milliseconds: newest.int("chosenAt")) }
        if let hash = try Credentials.hash(of: userId, transaction) {
            try add(hash, of: userId, keeping: 1, in: transaction)
        }
        return transaction.now
    }

    static func remove(of userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM passwordHistory WHERE userId = ?", [.text(userId)])
    }
}
