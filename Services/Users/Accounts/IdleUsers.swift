import ObjectStore
import ParseProtocol
import ServiceKit

/// Deletes unused anonymous accounts in every service, as if their users had deleted them.
struct IdleUsers: Sendable {
    /// `since`: from then on, each use of a session updates its time after half of `milliseconds` at the latest.
    static let tables = [
        """
        CREATE TABLE idlePeriod(id INTEGER PRIMARY KEY CHECK(id = 1), milliseconds INTEGER NOT NULL, \
        since INTEGER NOT NULL)
        """
    ]

    /// From `SATCHEL_ANONYMOUS_DAYS`; nil disables the deletion.
    let idleMin: Duration?
    /// Nil when use does not update sessions. Then a user with any session counts as active.
    let sessionExtension: SessionExtension?
    let messages: Outbox

    /// Users checked per transaction, which takes some milliseconds.
    private static let pageRows = 100

    init(settings: UsersSettings, messages: Outbox) {
        idleMin = settings.anonymousIdle
        sessionExtension = settings.extensionLifetime
        self.messages = messages
    }

    /// Checks some anonymous users and deletes the idle ones.
    /// - Parameter identity: the last checked identity; empty at first.
    /// - Returns: the new last one; nil when there are no more.
    func removePage(after identity: String, in transaction: StoreTransaction) throws -> String? {
        guard let idleMin else {
            try forgetPeriod(in: transaction)
            return nil
        }
        // A session's time is updated only after half the period, so it may lag the last use by that much.
        let limit = transaction.now.advanced(by: .zero - idleMin / 2 * 3)
        if sessionExtension == nil {
            try forgetPeriod(in: transaction)
        } else {
            // Sessions that were in use before then may look idle.
            guard try markedSince(idleMin, in: transaction) <= limit else { return nil }
        }
        let rows = try transaction.rows(
            "SELECT value, userId FROM identities WHERE kind = ? AND value > ? ORDER BY value LIMIT ?",
            [.text(Identity.Kind.anonymous.text), .text(identity), .int(Int64(Self.pageRows))])
        for row in rows {
            let userId = try row.text("userId")
            guard try isIdle(userId, since: limit, transaction) else { continue }
            try transaction.delete("_User", userId, caller: .master)
            try AccountDeletion.finish(userId, messages: messages, in: transaction)
        }
        return rows.count < Self.pageRows ? nil : try rows.last?.text("value")
    }

    private func isIdle(_ userId: String, since limit: Timestamp, _ transaction: StoreTransaction) throws -> Bool {
        let user = Query(className: "_User", where: ["objectId": .string(userId), "updatedAt": ["$lt": limit.wire]])
        guard try transaction.count(user, caller: .master) == 1 else { return false }
        let pointer = JSON.pointer("_User", userId)
        let used = Query(className: "_Session", where: ["user": pointer, "updatedAt": ["$gte": limit.wire]])
        guard try transaction.count(used, caller: .master) == 0 else { return false }
        // Use updates no session that has a later end or a fixed one.
        let all = Query(className: "_Session", where: ["user": pointer], limit: Sessions.perUserMax)
        return try transaction.documents(all, caller: .master).allSatisfy {
            try Sessions.isExtendable($0, sessionExtension, at: transaction.now, transaction)
        }
    }

    /// The time since which use updates sessions often enough for this period.
    private func markedSince(_ period: Duration, in transaction: StoreTransaction) throws -> Timestamp {
        let known = try transaction.rows("SELECT milliseconds, since FROM idlePeriod", []).first
        let (before, since) = try known.map { (try $0.int("milliseconds"), try $0.int("since")) } ?? (.max, 0)
        // A shorter period updated them more often.
        let stored = before <= period.milliseconds ? Timestamp(milliseconds: since) : transaction.now
        guard before != period.milliseconds else { return stored }
        try forgetPeriod(in: transaction)
        _ = try transaction.execute(
            "INSERT INTO idlePeriod(id, milliseconds, since) VALUES (1, ?, ?)",
            [.int(period.milliseconds), .int(stored.milliseconds)])
        return stored
    }

    private func forgetPeriod(in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM idlePeriod", [])
    }
}
