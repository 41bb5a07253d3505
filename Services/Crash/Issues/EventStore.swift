import ObjectStore
import ParseProtocol

/// The newest events of each issue, unchanged except for scrubbing.
package enum EventStore {
    /// Maximum events of an issue: enough to compare them.
    package static let perIssueMax: Int64 = 30
    /// Any client with the app can upload, so the stored size is limited; the oldest events are removed.
    private static let bytesMax: Int64 = 512 << 20

    static func contains(_ eventId: String, projectId: Int64, in transaction: StoreTransaction) throws -> Bool {
        try !transaction.rows(
            "SELECT 1 FROM crashEvents WHERE projectId = ? AND eventId = ?", [.int(projectId), .text(eventId)]
        ).isEmpty
    }

    static func add(
        _ event: StoredEvent, issueId: Int64, projectId: Int64, in transaction: StoreTransaction
    ) throws {
        _ = try transaction.execute(
            """
            INSERT INTO crashEvents(projectId, eventId, issueId, receivedAt, type, message, level, release, platform, \
            userId,
            bytes, event) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .int(projectId), .text(event.eventId), .int(issueId), .int(transaction.now.milliseconds),
                .text(event.crash.type), .text(event.crash.text), .text(event.crash.level), .text(event.crash.release),
                .text(event.crash.platform), event.userId.isEmpty ? .null : .text(event.userId),
                .int(Int64(event.json.count)), .blob(event.json),
            ])
        _ = try transaction.execute(
            """
            DELETE FROM crashEvents WHERE issueId = ?1
            AND id <= (SELECT id FROM crashEvents WHERE issueId = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
            """,
            [.int(issueId), .int(perIssueMax)])
        while try transaction.rows("SELECT total FROM crashBytes", []).first?.int("total") ?? 0 > bytesMax {
            let removed = try transaction.execute(
                "DELETE FROM crashEvents WHERE id IN (SELECT id FROM crashEvents ORDER BY id LIMIT 20)")
            if removed == 0 { break }
        }
    }

    /// The events, last received first.
    static func newest(limit: Int64, issueId: Int64? = nil, _ reader: StoreReader) throws -> [JSON] {
        let condition = issueId == nil ? "" : "WHERE e.issueId = ?2"
        let rows = try reader.rows(
            """
            SELECT e.eventId, e.projectId, e.receivedAt, e.type, e.message, e.level, e.release, e.platform, e.userId, \
            i.publicId
            FROM crashEvents e JOIN issues i ON i.id = e.issueId \(condition) ORDER BY e.id DESC LIMIT ?1
            """,
            [.int(limit), issueId.map(SQLValue.int) ?? .null])
        return try rows.map { row in
            var event: [String: JSON] = try [
                "id": .string(row.text("eventId")), "projectId": .string(String(row.int("projectId"))),
                "issueId": .string(row.text("publicId")),
                "receivedAt": Timestamp(milliseconds: row.int("receivedAt")).wire, "type": .string(row.text("type")),
                "message": .string(row.text("message")), "level": .string(row.text("level")),
                "release": .string(row.text("release")), "platform": .string(row.text("platform")),
            ]
            event["userId"] = try row["userId"].textValue.map(JSON.string)
            return .object(event)
        }
    }

    /// The newest event of an issue as stored.
    static func latest(issueId: Int64, _ reader: StoreReader) throws -> JSON? {
        let stored = try reader.rows(
            "SELECT event FROM crashEvents WHERE issueId = ? ORDER BY id DESC LIMIT 1", [.int(issueId)]
        ).first?.blob("event")
        return stored.flatMap { try? JSON(parsing: $0) }
    }

    /// Removes a deleted account's id, names and addresses from its events, and from the texts that issues copied from
    /// them.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        let ids = try transaction.rows("SELECT id FROM crashEvents WHERE userId = ?", [.text(userId)]).map {
            try $0.int("id")
        }
        for id in ids {
            // One at a time, so that memory holds only one event.
            guard
                let row = try transaction.rows("SELECT event, issueId FROM crashEvents WHERE id = ?", [.int(id)]).first
            else { continue }
            let stored = try row.blob("event")
            let before = (try? JSON(parsing: stored)) ?? [:]
            let event = EventScrubber.anonymized(before)
            let (old, new) = (CrashEvent(before), CrashEvent(event))
            // The recorded size is not updated.
            _ = try transaction.execute(
                "UPDATE crashEvents SET userId = NULL, event = ?, type = ?, message = ? WHERE id = ?",
                [.blob(event.serialized), .text(new.type), .text(new.text), .int(id)])
            for (column, copied, kept) in [("title", old.title, new.title), ("culprit", old.culprit, new.culprit)] {
                _ = try transaction.execute(
                    "UPDATE issues SET \(column) = ? WHERE id = ? AND \(column) = ?",
                    [.text(kept), .int(row.int("issueId")), .text(copied)])
            }
        }
    }
}
