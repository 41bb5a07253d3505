import ObjectStore

/// First and later visits of users and devices: one row each, which changes at most once per day.
package enum VisitLog {
    /// Maximum ids per kind. Clients choose installation ids. Beyond this limit, new ids are not recorded until enough
    /// inactive ones have expired. A row takes about 120 bytes.
    private static let idsMax: Int64 = 1_000_000
    /// Days after which an inactive id is forgotten. Long enough that a return is not counted as a first visit: the
    /// days of `ActiveIds` plus the rest of their first week.
    static let daysKept: Int64 = ActiveIds.daysKept + 7

    /// Records the first event of an id on a day.
    static func add(_ id: String, _ kind: ActiveIds.Kind, day: Int64, in transaction: StoreTransaction) throws {
        let key: [SQLValue] = [.int(kind.rawValue), .text(id)]
        let known = try transaction.rows(
            "SELECT firstDay, lastDay, days, weeks FROM visits WHERE kind = ? AND id = ?", key
        ).first
        guard let known else { return try addFirst(Visits(on: day), key, in: transaction) }
        var visits = try Visits(
            firstDay: known.int("firstDay"), lastDay: known.int("lastDay"), days: known.int("days"),
            weeks: known.int("weeks"))
        visits.add(day)
        _ = try transaction.execute(
            "UPDATE visits SET firstDay = ?, lastDay = ?, days = ?, weeks = ? WHERE kind = ? AND id = ?",
            values(visits) + key)
    }

    private static func addFirst(_ visits: Visits, _ key: [SQLValue], in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            """
            INSERT INTO visits(firstDay, lastDay, days, weeks, kind, id) SELECT ?1, ?2, ?3, ?4, ?5, ?6
            WHERE coalesce((SELECT ids FROM visitTotals WHERE kind = ?5), 0) < ?7
            """,
            values(visits) + key + [.int(idsMax)])
    }

    private static func values(_ visits: Visits) -> [SQLValue] {
        [.int(visits.firstDay), .int(visits.lastDay), .int(visits.days), .int(visits.weeks)]
    }

    /// Whether new ids of a kind are recorded.
    static func hasRoom(_ kind: ActiveIds.Kind, _ reader: StoreReader) throws -> Bool {
        try reader.rows("SELECT ids FROM visitTotals WHERE kind = ?", [.int(kind.rawValue)])
            .first?.int("ids") ?? 0 < idsMax
    }

    /// Replaces a deleted account's id with a random name, as `ActiveIds` does.
    static func forget(_ userId: String, as name: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "UPDATE visits SET id = ? WHERE kind = ? AND id = ?",
            [.text(name), .int(ActiveIds.Kind.users.rawValue), .text(userId)])
    }

    // MARK: - Inactive ids

    /// Rows removed in one transaction.
    private static let removedAtOnce: Int64 = 2000

    /// Some ids that have been inactive for long enough. Runs on a reader, which delays no write: there is no index by
    /// the last day, because each visit would change it.
    package static func stale(today: Int64, _ reader: StoreReader) throws -> [SQLRow] {
        try reader.rows(
            "SELECT kind, id FROM visits WHERE lastDay < ? LIMIT ?", [.int(today - daysKept), .int(removedAtOnce)])
    }

    /// Removes those rows that are still inactive.
    package static func remove(_ rows: [SQLRow], today: Int64, in transaction: StoreTransaction) throws {
        for row in rows {
            _ = try transaction.execute(
                "DELETE FROM visits WHERE kind = ? AND id = ? AND lastDay < ?",
                [row["kind"], row["id"], .int(today - daysKept)])
        }
    }
}
