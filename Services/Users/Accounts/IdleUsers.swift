import ObjectStore
import ParseProtocol
import ServiceKit

/// Anonymous users whom no app uses any more. Their accounts end as if they had deleted them, in every service.
struct IdleUsers: Sendable {
    /// From `SATCHEL_ANONYMOUS_DAYS`; nil: nobody's account ends.
    let idleMin: Duration?
    /// Whether use marks a session; else a user with any session counts as active.
    let areSessionsMarked: Bool
    let messages: Outbox

    /// Users looked at in one transaction, some milliseconds.
    private static let pageRows = 100

    init(settings: UsersSettings, messages: Outbox) {
        idleMin = settings.anonymousIdle
        areSessionsMarked = settings.extendsSessions
        self.messages = messages
    }

    /// Looks at some anonymous users and removes those that are idle.
    /// - Parameter identity: the last identity that was looked at; empty at first.
    /// - Returns: the last one now; nil when there is none left.
    func removePage(after identity: String, in transaction: StoreTransaction) throws -> String? {
        guard let idleMin else { return nil }
        let rows = try transaction.rows(
            "SELECT value, userId FROM identities WHERE kind = ? AND value > ? ORDER BY value LIMIT ?",
            [.text(Identity.Kind.anonymous.text), .text(identity), .int(Int64(Self.pageRows))])
        // A session is marked after half of the time, so that a mark may be that much older than the last use.
        let limit = transaction.now.advanced(by: .zero - idleMin / 2 * 3)
        for row in rows {
            let userId = try row.text("userId")
            guard try isIdle(userId, since: limit, transaction) else { continue }
            try transaction.delete("_User", userId, caller: .master)
            try AccountDeletion.finish(userId, messages: messages, in: transaction)
        }
        return rows.count < Self.pageRows ? nil : try rows.last?.text("value")
    }

    private func isIdle(_ userId: String, since limit: Timestamp, _ reader: some ObjectReading) throws -> Bool {
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
