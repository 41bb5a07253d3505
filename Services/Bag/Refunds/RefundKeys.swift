import ObjectStore
import ParseProtocol

/// The keys that identify a repeated refund request: the operator's idempotency key, and the key of each request, which
/// the gateway reuses when it retries after a process died.
enum RefundKeys {
    /// Retries of a request end long before a day has passed.
    private static let requestKeysKept = Duration.seconds(86_400)

    /// The refund for which one of the keys was used. A refused refund does not keep its keys.
    /// - Parameter fingerprint: of everything that is requested.
    /// - Throws: `.validationError` (142) when the key was used for another refund: the client would take that refund's
    ///   answer for this one's.
    static func refund(
        _ keys: [String], of orderId: String, amount: Int64?, fingerprint: String, in store: ObjectReader
    ) throws -> String? {
        for key in keys {
            let rows = try store.rows(
                """
                SELECT refundKeys.* FROM refundKeys JOIN refunds ON id = refundId WHERE key = ? AND state <> 'failed'
                """, [.text(key)])
            guard let row = rows.first else { continue }
            // Keys of earlier releases have no fingerprint.
            guard try row.text("orderId") == orderId, try row["requested"].intValue == amount,
                try row["request"].textValue ?? fingerprint == fingerprint
            else {
                throw ParseError(
                    .validationError, "This idempotency key was used for another refund; use a new key for this one.")
            }
            return try row.text("refundId")
        }
        return nil
    }

    static func keep(
        _ keys: [String], for refund: Refund, requested: Int64?, fingerprint: String, in transaction: StoreTransaction
    ) throws {
        for key in keys {
            try transaction.execute(
                """
                INSERT INTO refundKeys(key, refundId, orderId, requested, request, createdAt) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT(key) DO UPDATE SET refundId = excluded.refundId, orderId = excluded.orderId,
                requested = excluded.requested, request = excluded.request, createdAt = excluded.createdAt
                """,
                [
                    .text(key), .text(refund.id), .text(refund.orderId), requested.map(SQLValue.int) ?? .null,
                    .text(fingerprint), .int(transaction.now.milliseconds),
                ])
        }
        try transaction.execute(
            "DELETE FROM refundKeys WHERE key >= 'request:' AND key < 'request;' AND createdAt < ?",
            [.int(transaction.now.advanced(by: .zero - requestKeysKept).milliseconds)])
    }
}
