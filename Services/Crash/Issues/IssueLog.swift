import ObjectStore
import ParseProtocol
import ServiceKit

/// Crashes grouped by their fingerprint, with counts per release.
package enum IssueLog {
    /// Maximum issues; beyond it, the issue that has been quiet for longest is removed.
    private static let issuesMax: Int64 = 5000
    /// Maximum releases of an issue that are counted separately, and of a project that are stored (beyond it, the one
    /// that appeared first is removed); clients choose the releases.
    package static let releasesMax: Int64 = 1000
    private static let otherRelease = "(other)"
    /// Maximum users of an issue that are counted separately; beyond it the count no longer grows.
    private static let usersMax: Int64 = 100_000

    /// Adds an event to its issue, which gets the event's title and culprit: `EventStore.forget` finds these texts
    /// only while the event is stored. Idempotent by event id.
    package static func add(
        _ event: StoredEvent, projectId: Int64, zone: ShopZone = .utc, in transaction: StoreTransaction
    ) throws {
        guard try !EventStore.contains(event.eventId, projectId: projectId, in: transaction) else { return }
        let issueId = try issue(of: event, projectId: projectId, in: transaction)
        try count(event.crash.release, issueId: issueId, in: transaction)
        let isOfDeleted = try DeletedUsers.contains(event.userId, in: transaction)
        let userHash = isOfDeleted ? nil : event.userHash
        let isNewUser = try userHash.map { try countUser($0, issueId: issueId, in: transaction) } ?? false
        _ = try transaction.execute(
            """
            UPDATE issues SET count = count + 1, users = users + ?, lastSeen = ?, title = ?, culprit = ?, level = ?
            WHERE id = ?
            """,
            [
                .int(isNewUser ? 1 : 0), .int(transaction.now.milliseconds), .text(event.crash.title),
                .text(event.crash.culprit), .text(event.crash.level), .int(issueId),
            ])
        try CrashDays.add(
            event, issueId: issueId, projectId: projectId, day: zone.day(of: transaction.now), in: transaction)
        try EventStore.add(event, issueId: issueId, projectId: projectId, in: transaction)
        if isOfDeleted { try EventStore.forget(event.userId, in: transaction) }
    }

    /// The event's issue, created for its first event, with its status after this event.
    private static func issue(
        of event: StoredEvent, projectId: Int64, in transaction: StoreTransaction
    ) throws -> Int64 {
        let releaseFirstSeen = try firstSeen(event.crash.release, projectId: projectId, in: transaction)
        let known = try transaction.rows(
            "SELECT id, status, resolvedIn, resolvedAt FROM issues WHERE projectId = ? AND fingerprint = ?",
            [.int(projectId), .text(event.fingerprint.hash)]
        ).first
        guard let known else { return try create(event, projectId: projectId, in: transaction) }
        let status = try IssueStatus(rawValue: known.text("status")) ?? .unresolved
        let after = try status.after(
            .init(release: event.crash.release, releaseFirstSeen: releaseFirstSeen),
            resolvedIn: known.text("resolvedIn"),
            resolvedAt: Timestamp(milliseconds: known.int("resolvedAt")))
        if after != status {
            _ = try transaction.execute(
                "UPDATE issues SET status = ? WHERE id = ?", [.text(after.rawValue), .int(known.int("id"))])
        }
        return try known.int("id")
    }

    private static func create(
        _ event: StoredEvent, projectId: Int64, in transaction: StoreTransaction
    ) throws -> Int64 {
        if try transaction.rows("SELECT count(*) FROM issues", []).first?.int(0) ?? 0 >= issuesMax,
            let oldest = try transaction.rows("SELECT id FROM issues ORDER BY lastSeen LIMIT 1", []).first?.int("id")
        {
            try remove(oldest, in: transaction)
        }
        let now = SQLValue.int(transaction.now.milliseconds)
        let row = try transaction.rows(
            """
            INSERT INTO issues(publicId, projectId, fingerprint, title, culprit, level, platform, firstSeen, \
            lastSeen, status)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
            """,
            [
                .text(Names.objectId()), .int(projectId), .text(event.fingerprint.hash), .text(event.crash.title),
                .text(event.crash.culprit), .text(event.crash.level), .text(event.crash.platform), now, now,
                .text(IssueStatus.unresolved.rawValue),
            ]
        ).first
        guard let row else { throw ParseError.internalError }
        return try row.int("id")
    }

    private static func remove(_ issueId: Int64, in transaction: StoreTransaction) throws {
        for table in ["crashEvents", "issueReleases", "issueUsers", "issueDays"] {
            _ = try transaction.execute("DELETE FROM \(table) WHERE issueId = ?", [.int(issueId)])
        }
        _ = try transaction.execute("DELETE FROM issues WHERE id = ?", [.int(issueId)])
    }

    private static func firstSeen(
        _ release: String, projectId: Int64, in transaction: StoreTransaction
    ) throws -> Timestamp {
        let key: [SQLValue] = [.int(projectId), .text(release)]
        let known = try transaction.rows(
            "SELECT firstSeen FROM crashReleases WHERE projectId = ? AND release = ?", key
        ).first
        if let known { return try Timestamp(milliseconds: known.int("firstSeen")) }
        try transaction.execute(
            """
            DELETE FROM crashReleases WHERE projectId = ?1
            AND release = (SELECT release FROM crashReleases WHERE projectId = ?1 ORDER BY firstSeen LIMIT 1)
            AND (SELECT count(*) FROM crashReleases WHERE projectId = ?1) >= ?2
            """,
            [.int(projectId), .int(releasesMax)])
        try transaction.execute(
            "INSERT INTO crashReleases(projectId, release, firstSeen) VALUES (?, ?, ?)",
            key + [.int(transaction.now.milliseconds)])
        return transaction.now
    }

    private static func count(_ release: String, issueId: Int64, in transaction: StoreTransaction) throws {
        let now = SQLValue.int(transaction.now.milliseconds)
        func add(_ release: String) throws {
            _ = try transaction.execute(
                """
                INSERT INTO issueReleases(issueId, release, count, firstSeen, lastSeen) VALUES (?1, ?2, 1, ?3, ?3)
                ON CONFLICT(issueId, release) DO UPDATE SET count = issueReleases.count + 1, lastSeen = ?3
                """,
                [.int(issueId), .text(release), now])
        }
        let isCounted = try transaction.execute(
            "UPDATE issueReleases SET count = count + 1, lastSeen = ? WHERE issueId = ? AND release = ?",
            [now, .int(issueId), .text(release)])
        guard isCounted == 0 else { return }
        let others = try transaction.rows("SELECT count(*) FROM issueReleases WHERE issueId = ?", [.int(issueId)]).first
        try add(others?.int(0) ?? 0 < releasesMax ? release : otherRelease)
    }

    private static func countUser(_ hash: String, issueId: Int64, in transaction: StoreTransaction) throws -> Bool {
        try transaction.execute(
            """
            INSERT INTO issueUsers(issueId, userHash) SELECT ?1, ?2 WHERE (SELECT users FROM issues WHERE id = ?1) < ?3
            ON CONFLICT(issueId, userHash) DO NOTHING
            """,
            [.int(issueId), .text(hash), .int(usersMax)]) > 0
    }

    /// Removes the link between a deleted account and its issues; the counts are kept.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM issueUsers WHERE userHash = ?", [.text(StoredEvent.hash(userId))])
    }
}
