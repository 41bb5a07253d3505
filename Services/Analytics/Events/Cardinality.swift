import ObjectStore

/// Limits the different names per day. Clients choose the names of events, dimensions and values, and each new one is a
/// row of a roll-up that is kept for years. Names beyond the limit are counted together.
enum Cardinality {
    /// The name under which all further names are counted together.
    static let other = "(other)"

    /// Whether a name that is new in `scope` may be added; if so, it is counted.
    static func admits(_ scope: String, day: Int64, maximum: Int64, in transaction: StoreTransaction) throws -> Bool {
        let changed = try transaction.execute(
            """
            INSERT INTO cardinality(day, scope, count) VALUES (?, ?, 1)
            ON CONFLICT(day, scope) DO UPDATE SET count = cardinality.count + 1 WHERE cardinality.count < ?
            """,
            [.int(day), .text(scope), .int(maximum)])
        return changed > 0
    }
}
