import ObjectStore
import ParseProtocol
import ServiceKit

/// Deliveries that the provider refused for a reason that an operator may remove, such as a wrong topic. Operators see
/// one item for all devices of a push with the same reason. `deliveryCounts` counts these deliveries as failed.
package enum ParkedDeliveries {
    static let tables = [
        """
        CREATE TABLE parkedDeliveries(id INTEGER PRIMARY KEY, name TEXT NOT NULL, push TEXT NOT NULL,
        installation TEXT NOT NULL, deviceType TEXT NOT NULL, token TEXT NOT NULL, appIdentifier TEXT, userId TEXT,
        payload BLOB, badge INTEGER, utcOffset INTEGER, expiresAt INTEGER, attempts INTEGER NOT NULL,
        problem TEXT NOT NULL, parkedAt INTEGER NOT NULL)
        """,
        "CREATE INDEX parkedDeliveriesOfPush ON parkedDeliveries(push, problem)",
        "CREATE INDEX parkedDeliveriesOfUser ON parkedDeliveries(userId) WHERE userId IS NOT NULL",
    ]

    private static let columns = """
        name, push, installation, deviceType, token, appIdentifier, userId, payload, badge, utcOffset, expiresAt
        """
    /// Limit of rows. Deliveries beyond it are only counted.
    private static let rowsMax: Int64 = 10_000
    /// An older notification is out of date.
    private static let kept = Duration.seconds(7 * 86_400)
    /// Removal of old rows.
    static let pause = Duration.seconds(3600)

    /// Copies a delivery that is about to be removed.
    static func park(_ id: Int64, _ problem: String, in transaction: StoreTransaction) throws {
        // The ids bound the number of rows without counting them, unless many were removed between old ones.
        let span = try transaction.rows(
            "SELECT coalesce(max(id) - min(id), 0) AS span FROM parkedDeliveries", []
        ).first?.int("span")
        if span ?? 0 >= rowsMax {
            let count = try transaction.rows("SELECT count(*) AS count FROM parkedDeliveries", []).first?.int("count")
            guard count ?? 0 < rowsMax else { return }
        }
        try transaction.execute(
            """
            INSERT INTO parkedDeliveries(\(columns), attempts, problem, parkedAt)
            SELECT \(columns), attempts + 1, ?, ? FROM deliveries WHERE id = ?
            """, [.text(problem), .int(transaction.now.milliseconds), .int(id)])
    }

    /// - Parameter wake: called when deliveries became due.
    package static func kind(wake: @escaping @Sendable () -> Void) -> ParkedKind {
        ParkedKind("push", for: [.admins]) { limit, reader in
            try items("", [], limit, in: reader)
        } count: { reader in
            try reader.rows(
                "SELECT count(*) AS count FROM (SELECT DISTINCT push, problem FROM parkedDeliveries) AS parked", []
            ).first?.int("count") ?? 0
        } retry: { id, transaction in
            let (push, problem) = group(id)
            guard let item = try item(push, problem, in: transaction) else { return nil }
            try discount(push, problem, in: transaction)
            let now = SQLValue.int(transaction.now.milliseconds)
            try transaction.execute(
                """
                INSERT INTO deliveries(\(columns), madeAt, dueAt)
                SELECT \(columns), ?, ? FROM parkedDeliveries WHERE push = ? AND problem = ?
                """, [now, now, .text(push), .text(problem)])
            try remove(push, problem, in: transaction)
            try transaction.execute(
                "UPDATE pushes SET state = 'sending' WHERE id = ? AND state = 'ended'", [.text(push)])
            try PushProgress.report(push, in: transaction)
            transaction.afterCommit(wake)
            return item
        } drop: { id, transaction in
            let (push, problem) = group(id)
            guard let item = try item(push, problem, in: transaction) else { return nil }
            try remove(push, problem, in: transaction)
            return item
        }
    }

    /// Removes rows that are out of date.
    static func forget(in transaction: StoreTransaction) throws {
        try transaction.execute(
            "DELETE FROM parkedDeliveries WHERE parkedAt < ?",
            [.int(transaction.now.advanced(by: .zero - kept).milliseconds)])
    }

    /// The account was deleted.
    static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM parkedDeliveries WHERE userId = ?", [.text(userId)])
    }

    // MARK: Groups

    /// The push and the reason in an item's id. Notifications about orders have no push.
    private static func group(_ id: String) -> (push: String, problem: String) {
        let push = id.prefix { $0 != ":" }
        return (String(push), String(id.dropFirst(push.count + 1)))
    }

    private static func item(
        _ push: String, _ problem: String, in store: ObjectReader
    ) throws -> ParkedKind.Item? {
        try items("WHERE push = ? AND problem = ?", [.text(push), .text(problem)], 1, in: store).first
    }

    private static func items(
        _ condition: String, _ values: [SQLValue], _ limit: Int64, in store: ObjectReader
    ) throws -> [ParkedKind.Item] {
        try store.rows(
            """
            SELECT push, problem, count(*) AS devices, min(parkedAt) AS since, max(attempts) AS attempts
            FROM parkedDeliveries \(condition) GROUP BY push, problem ORDER BY since DESC LIMIT ?
            """, values + [.int(limit)]
        ).map { row in
            let (push, problem, devices) = try (row.text("push"), row.text("problem"), row.int("devices"))
            let what = push.isEmpty ? "notifications about orders" : "push \(push)"
            return try ParkedKind.Item(
                id: "\(push):\(problem)", about: "\(what) to \(devices) devices", reason: problem,
                since: Timestamp(milliseconds: row.int("since")), attempts: row.int("attempts"),
                more: ["devices": .int(devices)])
        }
    }

    private static func remove(_ push: String, _ problem: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "DELETE FROM parkedDeliveries WHERE push = ? AND problem = ?", [.text(push), .text(problem)])
    }

    /// Takes the group out of the counts, because each of its deliveries is counted again at its end.
    private static func discount(_ push: String, _ problem: String, in transaction: StoreTransaction) throws {
        let counts = try transaction.rows(
            """
            SELECT deviceType, utcOffset, count(*) AS count FROM parkedDeliveries WHERE push = ? AND problem = ?
            GROUP BY deviceType, utcOffset
            """, [.text(push), .text(problem)])
        for row in counts {
            let offset = try row["utcOffset"].intValue.map(String.init) ?? ""
            try transaction.execute(
                """
                UPDATE deliveryCounts SET count = deliveryCounts.count - ? WHERE push = ? AND isSent = 0
                AND reason = ? AND deviceType = ? AND utcOffset = ?
                """, [row["count"], .text(push), .text(problem), row["deviceType"], .text(offset)])
        }
        try transaction.execute("DELETE FROM deliveryCounts WHERE push = ? AND count <= 0", [.text(push)])
    }
}
