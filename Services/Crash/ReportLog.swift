import ObjectStore
import ParseProtocol

/// The crash reports as they came in, in order of arrival.
enum ReportLog {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS reports(id INTEGER PRIMARY KEY, eventId TEXT NOT NULL UNIQUE, project TEXT NOT NULL,
        receivedAt INTEGER NOT NULL, type TEXT NOT NULL, message TEXT NOT NULL, level TEXT NOT NULL, release TEXT NOT NULL,
        platform TEXT NOT NULL, envelope BLOB NOT NULL)
        """
    ]

    /// Anybody with the app can upload, so what is kept is bounded: a gigabyte at the very most, the oldest go first.
    private static let reportsMax: Int64 = 1000

    /// Keeps an envelope that has an event. The same event again changes nothing.
    static func add(
        _ envelope: SentryEnvelope, _ bytes: [UInt8], project: String, in transaction: StoreTransaction
    ) throws {
        guard let event = envelope.event else { return }
        let title = envelope.title
        _ = try transaction.execute(
            """
            INSERT INTO reports(eventId, project, receivedAt, type, message, level, release, platform, envelope)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(eventId) DO NOTHING
            """,
            [
                .text(envelope.eventId), .text(project), .int(transaction.now.milliseconds), .text(title.type),
                .text(title.message), .text(SentryEnvelope.short(event["level"] ?? "error")),
                .text(SentryEnvelope.short(event["release"])), .text(SentryEnvelope.short(event["platform"])),
                .blob(bytes),
            ])
        _ = try transaction.execute(
            "DELETE FROM reports WHERE id <= (SELECT max(id) FROM reports) - ?", [.int(reportsMax)])
    }

    /// The reports, the one that came last first.
    static func newest(limit: Int64, _ reader: StoreReader) throws -> [JSON] {
        let rows = try reader.rows(
            """
            SELECT eventId, project, receivedAt, type, message, level, release, platform FROM reports
            ORDER BY id DESC LIMIT ?
            """,
            [.int(limit)])
        return rows.map { row in
            [
                "id": .string(row.text("eventId")), "projectId": .string(row.text("project")),
                "receivedAt": Timestamp(milliseconds: row.int("receivedAt")).wire, "type": .string(row.text("type")),
                "message": .string(row.text("message")), "level": .string(row.text("level")),
                "release": .string(row.text("release")), "platform": .string(row.text("platform")),
            ]
        }
    }
}
