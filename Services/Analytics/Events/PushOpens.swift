import ObjectStore
import ParseProtocol

/// Counts how often a tap on a push opened the app.
enum PushOpens {
    /// Maximum different pushes per day that open an app for the first time. Clients choose the hashes; a shop sends a
    /// few pushes per day.
    private static let newMax: Int64 = 2000

    static func add(_ pushHash: String, day: Int64, in transaction: StoreTransaction) throws {
        let now = SQLValue.int(transaction.now.milliseconds)
        let counted = try transaction.execute(
            "UPDATE pushOpens SET opens = opens + 1, lastAt = ? WHERE pushHash = ?", [now, .text(pushHash)])
        guard counted == 0, try Cardinality.admits("pushes", day: day, maximum: newMax, in: transaction) else { return }
        _ = try transaction.execute(
            "INSERT INTO pushOpens(pushHash, opens, firstAt, lastAt) VALUES (?, 1, ?, ?)", [.text(pushHash), now, now])
    }

    /// The total opens of these pushes, with the first and the last time; without times when there was none.
    static func of(_ hashes: [String], _ reader: StoreReader) throws -> JSON {
        guard
            let row = try reader.rows(
                """
                SELECT coalesce(sum(opens), 0) AS opens, min(firstAt) AS firstAt, max(lastAt) AS lastAt FROM pushOpens
                WHERE pushHash\(reader.dialect.isIn("?", as: .text))
                """,
                [.text(JSON.array(hashes.map(JSON.string)).serializedText)]
            ).first
        else { return ["opens": 0] }
        var opens: JSON = try ["opens": .int(row.int("opens"))]
        for name in ["firstAt", "lastAt"] {
            if let time = try row[name].intValue { opens[name] = Timestamp(milliseconds: time).wire }
        }
        return opens
    }

    /// The opens of each of these pushes that opened an app.
    static func each(_ hashes: [String], _ reader: StoreReader) throws -> JSON {
        let rows = try reader.rows(
            "SELECT pushHash, opens FROM pushOpens WHERE pushHash\(reader.dialect.isIn("?", as: .text))",
            [.text(JSON.array(hashes.map(JSON.string)).serializedText)])
        return .object(
            try Dictionary(rows.map { try ($0.text("pushHash"), JSON.int($0.int("opens"))) }) { first, _ in first })
    }
}
