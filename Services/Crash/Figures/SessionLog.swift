import ObjectStore
import ParseProtocol
import ServiceKit

/// App sessions: each counts once, however often it is reported, and so does each device per day.
package enum SessionLog {
    /// Maximum marks of a day. A session takes one, a device another, and a crash of either one more. Clients choose
    /// the ids; beyond this limit a day's session counts no longer grow.
    private static let marksMax: Int64 = 200_000

    /// Counts whatever is new in a report of a session.
    package static func add(_ session: AppSession, projectId: Int64, in transaction: StoreTransaction) throws {
        func isNew(_ mark: AppSession.Mark?) throws -> Int64 {
            guard let mark else { return 0 }
            return try admits(mark, day: session.day, in: transaction) ? 1 : 0
        }
        func isNewCrash(_ mark: AppSession.Mark?) throws -> Int64 {
            try session.isCrashed ? isNew(mark.map { AppSession.mark($0, "crashed") }) : 0
        }
        let figures: [Int64] = try [
            0, 0, isNew(session.session), isNewCrash(session.session), isNew(session.device),
            isNewCrash(session.device),
        ]
        guard figures.contains(1) else { return }
        try CrashDays.add(figures, projectId, day: session.day, session.release, in: transaction)
    }

    /// Whether something is new on a day; it is then recorded.
    private static func admits(_ mark: AppSession.Mark, day: Int64, in transaction: StoreTransaction) throws -> Bool {
        let isNew =
            try transaction.execute(
                """
                INSERT INTO sessionMarks(day, mark) SELECT ?1, ?2
                WHERE coalesce((SELECT count FROM sessionMarkDays WHERE day = ?1), 0) < ?3
                ON CONFLICT(day, mark) DO NOTHING
                """,
                [.int(day), .blob(mark), .int(marksMax)]) > 0
        guard isNew else { return false }
        _ = try transaction.execute(
            """
            INSERT INTO sessionMarkDays(day, count) VALUES (?, 1)
            ON CONFLICT(day) DO UPDATE SET count = sessionMarkDays.count + 1
            """,
            [.int(day)])
        return true
    }
}
