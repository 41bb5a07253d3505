import ObjectStore
import ParseProtocol
import ServiceKit

/// Deletes unused anonymous accounts in every service, as if their users had deleted them.
struct IdleUsers: Sendable {
    /// From `SATCHEL_ANONYMOUS_DAYS`; nil disables the deletion.
    let idleMin: Duration?
    /// Whether use updates a session; if not, a user with any session counts as active.
    let areSessionsMarked: Bool
    let messages: Outbox

    /// Users checked per transaction, which takes some milliseconds.
    private static let pageRows = 100

    init(settings: UsersSettings, messages: Outbox) {
        idleMin = settings.anonymousIdle
        areSessionsMarked = settings.extendsSessions
        self.messages = messages
    }

    /// Checks some anonymous users and deletes the idle ones.
    /// - Parameter identity: the last checked identity; empty at first.
    /// - Returns: the new last one; nil when there are no more.
    func removePage(after identity: String, in transaction: StoreTransaction) throws -> String? {
        guard let idleMin else { return nil }
        let rows = try transaction.rows(
            "SELECT value, userId FROM identities WHERE kind = ? AND value > ? ORDER BY value LIMIT ?",
            [.text(Identity.Kind.anonymous.text), .text(identity), .int(Int64(Self.pageRows))])
        // A session's time is updated only after half the period, so it may lag the last use by that much.
        let limit = transaction.now.advanced(by: .zero - idleMin / 2 * 3)
        for row in rows {
            let userId = try row.text("userId")
            guard try isIdle(userId, since: limit, transaction) else { continue }
            try transaction.delete("_User", userId, caller: .master)
            try AccountDeletion.finish(userId, messages: messages, in: transaction)
        }
        return rows.count < Self.pageRows ? nil : try rows.last?.text("value")
    }

    private func isIdle(_ userId: String, since limit: Timestamp, _ reader: ObjectReader) throws -> Bool {
        let old: JSON = ["$lt": limit.wire]
        let user = Query(className: "_User", where: ["objectId": .string(userId), "updatedAt": old])
        guard try reader.count(user, caller: .master) == 1 else { return false }
        let pointer = JSON.pointer("_User", userId)
        let sessions: JSON =
            areSessionsMarked
            ? ["user": pointer, "updatedAt": ["$gte": limit.wire]] : ["user": pointer]
        return try reader.count(Query(className: "_Session", where: sessions), caller: .master) == 0
    }
}
