import ObjectStore
import ParseProtocol

/// The keys by which a refund that is asked for again is recognised: the operator's idempotency key, and the key of
/// each request that reached it, which the gateway repeats when a process dies.
enum RefundKeys {
    /// A day is far longer than any request is repeated.
    private static let requestKeysKept = Duration.seconds(86_400)

    /// The refund that one of the keys was used for.
    /// - Parameter amount: as it is asked for; nil for all that is left.
    /// - Throws: `.validationError` (142) when the key was used for another order or amount: its answer would be taken
    ///   for this one's.
    static func refund(
        _ keys: [String], of orderId: String, amount: Int64?, in store: some ObjectReading
    ) throws -> String? {
        for key in keys {
            let rows = try store.rows(
                "SELECT refundId, orderId, requested FROM refundKeys WHERE key = ?", [.text(key)])
            guard let row = rows.first else { continue }
            guard try row.text("orderId") == orderId, try row["requested"].intValue == amount else {
                throw ParseError(.validationError, "This idempotency key was used for another refund.")
            }
            return try row.text("refundId")
        }
        return nil
    }

    static func keep(
        _ keys: [String], for refund: Refund, requested: Int64?, in transaction: StoreTransaction
    ) throws {
        for key in keys {
            try transaction.execute(
                "INSERT INTO refundKeys(key, refundId, orderId, requested, createdAt) VALUES (?, ?, ?, ?, ?)",
                [
                    .text(key), .text(refund.id), .text(refund.orderId), requested.map(SQLValue.int) ?? .null,
                    .int(transaction.now.milliseconds),
                ])
        }
        try transaction.execute(
            "DELETE FROM refundKeys WHERE key >= 'request:' AND key < 'request;' AND createdAt < ?",
            [.int(transaction.now.advanced(by: .zero - requestKeysKept).milliseconds)])
    }
}
