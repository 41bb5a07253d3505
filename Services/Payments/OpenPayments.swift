import ObjectStore
import ParseProtocol
import ProcessKit

/// Counts the charges and refunds that the provider should have decided. It leaves out new operations, and charges that
/// the customer has to confirm.
package enum OpenPayments {
    private static let usual = Duration.seconds(300)

    package static func figures(in reader: some ObjectReading, at now: Timestamp) throws -> [Figure] {
        try [("charges", "AND awaitsAction = 0"), ("refunds", "")].map { table, condition in
            let rows = try reader.rows(
                "SELECT count(*) AS count FROM \(table) WHERE state = 'created' AND createdAt <= ? \(condition)",
                [.int(now.milliseconds - usual.milliseconds)])
            return Figure(.paymentsOpen, Double(try rows.first?.int("count") ?? 0), ["kind": table])
        }
    }
}
