import ObjectStore
import ParseProtocol
import ServiceKit

/// Daily counts of reports, sessions and devices per project and version, and of reports per issue.
package enum CrashDays {
    /// Days for which the counts are kept.
    static let daysKept: Int64 = 400
    /// Maximum versions per project and day that are counted separately; clients choose the versions.
    package static let releasesMax: Int64 = 50
    private static let otherRelease = "(other)"

    /// The counts of a day, in the order of their columns.
    static let columns = ["reports", "crashes", "sessions", "crashedSessions", "devices", "crashedDevices"]

    /// Counts a report on the day of its arrival: a device can send any time for a crash.
    static func add(
        _ event: StoredEvent, issueId: Int64, projectId: Int64, day: Int64, in transaction: StoreTransaction
    ) throws {
        let crashes: Int64 = event.crash.isFatal ? 1 : 0
        _ = try transaction.execute(
            """
            INSERT INTO issueDays(issueId, day, reports, crashes) VALUES (?1, ?2, 1, ?3)
            ON CONFLICT(issueId, day) DO UPDATE SET reports = issueDays.reports + 1,
            crashes = issueDays.crashes + ?3
            """,
            [.int(issueId), .int(day), .int(crashes)])
        try add([1, crashes, 0, 0, 0, 0], projectId, day: day, event.crash.release, in: transaction)
    }

    /// Adds to a day's counts.
    static func add(
        _ figures: [Int64], _ projectId: Int64, day: Int64, _ release: String, in transaction: StoreTransaction
    ) throws {
        let key: [SQLValue] = [.int(projectId), .int(day)]
        let name = try admitted(release, key, in: transaction)
        let changes = columns.map { "\($0) = releaseDays.\($0) + excluded.\($0)" }.joined(separator: ", ")
        _ = try transaction.execute(
            """
            INSERT INTO releaseDays(projectId, day, release, \(columns.joined(separator: ", ")))
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(projectId, day, release) DO UPDATE SET \(changes)
            """,
            key + [.text(name)] + figures.map(SQLValue.int))
    }

    private static func admitted(
        _ release: String, _ key: [SQLValue], in transaction: StoreTransaction
    ) throws -> String {
        let isKnown =
            try !transaction.rows(
                "SELECT 1 FROM releaseDays WHERE projectId = ? AND day = ? AND release = ?", key + [.text(release)]
            ).isEmpty
        if isKnown { return release }
        let others = try transaction.rows("SELECT count(*) FROM releaseDays WHERE projectId = ? AND day = ?", key).first
        return try others?.int(0) ?? 0 < releasesMax ? release : otherRelease
    }
}
