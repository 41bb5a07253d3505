import ObjectStore
import ParseProtocol

/// The counts of how often an app was opened by a tap on a push.
enum PushOpens {
    /// Different pushes a day that may open an app for the first time. Hashes are the client's word; a shop sends a few
    /// a day.
    private static let newMax: Int64 = 2000

    static func add(_ pushHash: String, day: Int64, in transaction: StoreTransaction) throws {
        let now = SQLValue.int(transaction.now.milliseconds)
        let counted = try transaction.execute(
            "UPDATE pushOpens SET opens = opens + 1, lastAt = ? WHERE pushHash = ?", [now, .text(pushHash)])
        guard counted == 0, try Cardinality.admits("pushes", day: day, maximum: newMax, in: transaction) else { return }
        _ = try transaction.execute(
            "INSERT INTO pushOpens(pushHash, opens, firstAt, lastAt) VALUES (?, 1, ?, ?)", [.text(pushHash), now, now])
    }

    static func of(_ pushHash: String, _ reader: StoreReader) throws -> JSON {
        guard
            let row = try reader.rows(
                "SELECT opens, firstAt, lastAt FROM pushOpens WHERE pushHash = ?", [.text(pushHash)]
            ).first
        else { return ["pushHash": .string(pushHash), "opens": 0] }
        return try [
            "pushHash": .string(pushHash), "opens": .int(row.int("opens")),
            "firstAt": Timestamp(milliseconds: row.int("firstAt")).wire,
            "lastAt": Timestamp(milliseconds: row.int("lastAt")).wire,
        ]
    }
}
