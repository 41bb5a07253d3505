import ObjectStore
import ParseProtocol
import ServiceKit

/// The times at which operators last used a session, to ten minutes. The gateway reports the use of a session that
/// `SessionReply` calls extendable.
enum LastSeen {
    static let tables = [
        "CREATE TABLE operatorsSeen(userId TEXT PRIMARY KEY, seenAt INTEGER NOT NULL) WITHOUT ROWID"
    ]

    /// A write for each request would cost too much.
    private static let pause: Int64 = 600_000

    /// Whether the next use of an operator's session must be noted.
    static func isDue(_ userId: String, at now: Timestamp, _ reader: ObjectReader) throws -> Bool {
        guard let seen = try milliseconds(userId, reader) else { return true }
        return now.milliseconds - seen >= pause
    }

    /// Notes the use of a session, if it is an operator's.
    static func note(_ token: String, _ key: AccountKey, in transaction: StoreTransaction) throws {
        let session = try Sessions.live(token, key, at: transaction.now, transaction)
        guard let userId = session["user"]?.pointerTarget?.objectId,
            try OperatorRoles.isHeld(by: userId, transaction)
        else { return }
        try transaction.execute(
            """
            INSERT INTO operatorsSeen(userId, seenAt) VALUES (?, ?)
            ON CONFLICT(userId) DO UPDATE SET seenAt = excluded.seenAt
            """, [.text(userId), .int(transaction.now.milliseconds)])
    }

    /// The last noted use, or the newest sign-in if that is later; nil for neither.
    static func time(of userId: String, _ reader: ObjectReader) throws -> Timestamp? {
        let signIn = try Sessions.newest(of: userId, reader)?["createdAt"]?.stringValue.flatMap { Timestamp(iso: $0) }
        let seen = try milliseconds(userId, reader).map { Timestamp(milliseconds: $0) }
        return [signIn, seen].compactMap(\.self).max { $0.milliseconds < $1.milliseconds }
    }

    static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM operatorsSeen WHERE userId = ?", [.text(userId)])
    }

    private static func milliseconds(_ userId: String, _ reader: ObjectReader) throws -> Int64? {
        try reader.rows("SELECT seenAt FROM operatorsSeen WHERE userId = ?", [.text(userId)]).first?.int("seenAt")
    }
}
