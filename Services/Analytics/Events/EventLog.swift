import ObjectStore
import ParseProtocol

/// The received events, in order of arrival.
package enum EventLog {
    /// Maximum events kept, usually a few hundred megabytes; the newest are kept.
    private static let keptMax: Int64 = 1_000_000
    /// A UUID has 36.
    private static let installationIdBytesMax = 128

    static func add(_ event: Event, by caller: Caller, at now: Timestamp, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            """
            INSERT INTO events(name, happenedAt, receivedAt, userId, installationId, pushHash, dimensions)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(event.name), .int(event.happenedAt(now: now).milliseconds), .int(now.milliseconds),
                caller.userId.map(SQLValue.text) ?? .null, caller.installationId.map { .text(shortened($0)) } ?? .null,
                event.pushHash.map(SQLValue.text) ?? .null, .text(JSON.object(event.dimensions).serializedText),
            ])
        // Ids are consecutive, so this finds the oldest by primary key and usually removes one.
        _ = try transaction.execute(
            "DELETE FROM events WHERE id <= (SELECT max(id) FROM events) - ?", [.int(keptMax)])
    }

    /// Removes the oldest events while the file exceeds its limit: events of maximum size are twenty times the usual
    /// size. In PostgreSQL only the number of events is limited.
    /// - Returns: whether it removed any.
    package static func shrink(to bytesMax: Int, in transaction: StoreTransaction) throws -> Bool {
        guard let used = try transaction.usedBytes(), used > bytesMax else { return false }
        return try transaction.execute(
            "DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id LIMIT ?)", [.int(shrunkAtOnce)]) > 0
    }

    /// A few megabytes, so that no write waits long.
    private static let shrunkAtOnce: Int64 = 2000

    static func shortened(_ installationId: String) -> String {
        guard installationId.utf8.count > installationIdBytesMax else { return installationId }
        return String(decoding: installationId.utf8.prefix(installationIdBytesMax), as: UTF8.self)
    }

    /// Removes a deleted account's id, and the device's, from its events; the events are kept without an owner.
    static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "UPDATE events SET userId = NULL, installationId = NULL WHERE userId = ?", [.text(userId)])
    }

    /// The events of a name, last received first.
    static func newest(_ name: String, limit: Int64, _ reader: StoreReader) throws -> [JSON] {
        let rows = try reader.rows(
            """
            SELECT name, happenedAt, receivedAt, userId, installationId, dimensions FROM events
            WHERE name = ? ORDER BY id DESC LIMIT ?
            """,
            [.text(name), .int(limit)])
        return try rows.map { row in
            let dimensions = try row.text("dimensions")
            var event: [String: JSON] = try [
                "name": .string(row.text("name")),
                "at": Timestamp(milliseconds: row.int("happenedAt")).wire,
                "receivedAt": Timestamp(milliseconds: row.int("receivedAt")).wire,
                "dimensions": (try? JSON(parsing: dimensions)) ?? [:],
            ]
            event["userId"] = try row["userId"].textValue.map(JSON.string)
            event["installationId"] = try row["installationId"].textValue.map(JSON.string)
            return .object(event)
        }
    }
}
