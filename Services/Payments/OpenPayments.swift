import ObjectStore
import ParseProtocol
import ProcessKit

/// Counts the charges and refunds that the provider should have decided. It leaves out new operations, and charges that
/// the customer has to confirm.
package enum OpenPayments {
    private static let usual = Duration.seconds(300)

    package static func figures(in reader: ObjectReader, at now: Timestamp) throws -> [Figure] {
        try ["charges", "refunds"].map { table in
            let rows = try reader.rows(count(of: table), [.int(now.milliseconds - usual.milliseconds)])
            return Figure(.paymentsOpen, Double(try rows.first?.int("count") ?? 0), ["kind": table])
        }
    }

    /// The plus keeps SQLite from the index of times, which has all charges; the index of open ones has few.
    package static func count(of table: String) -> String {
        "SELECT count(*) AS count FROM \(table) WHERE state = 'created' AND +createdAt <= ?"
            + (table == "charges" ? " AND awaitsAction = 0" : "")
    }
}
