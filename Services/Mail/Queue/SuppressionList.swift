import ObjectStore
import ParseProtocol

/// Addresses that a mail server reported as nonexistent. No mail is sent to them until an operator removes them from
/// the list, because mail to dead addresses gives the shop a reputation as a spammer. Addresses are stored in plain
/// text because operators must read them, and in lower case, because hardly any server distinguishes `Ann@` from
/// `ann@`.
package enum SuppressionList {
    /// Adds the address of a mail that bounced.
    static func add(addressOf mailId: Int64, reason: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            """
            INSERT INTO suppressedAddresses(address, reason, mailId, suppressedAt)
            SELECT lower(toAddress), ?, id, ? FROM mails WHERE id = ? ON CONFLICT(address) DO NOTHING
            """,
            [.text(reason), .int(transaction.now.milliseconds), .int(mailId)])
    }

    /// - Returns: false when the address is not on the list.
    static func remove(_ address: String, in transaction: StoreTransaction) throws -> Bool {
        try transaction.execute("DELETE FROM suppressedAddresses WHERE address = lower(?)", [.text(address)]) > 0
    }

    /// The addresses, last added first.
    static func newest(limit: Int64, _ reader: ObjectReader) throws -> [JSON] {
        try reader.rows("SELECT * FROM suppressedAddresses ORDER BY suppressedAt DESC LIMIT ?", [.int(limit)]).map {
            row in
            try [
                "address": .string(row.text("address")), "reason": .string(row.text("reason")),
                "mailId": .int(row.int("mailId")),
                "suppressedAt": Timestamp(milliseconds: row.int("suppressedAt")).wire,
            ]
        }
    }
}
