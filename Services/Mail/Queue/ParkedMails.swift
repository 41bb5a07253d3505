import ObjectStore
import ParseProtocol
import ServiceKit

/// Lists held, failed, bounced and suppressed mails with content as parked work. `retry` queues the mail again. `drop`
/// deletes its content, which ends the parking; the row stays as the record.
package enum ParkedMails {
    private static let columns = "id, template, toAddress, orderNo, problem, dueAt, attempts"
    private static let isParked = "state IN ('failed', 'bounced', 'suppressed', 'held') AND length(model) > 0"

    /// - Parameter wake: called when a mail became due.
    package static func kind(wake: @escaping @Sendable () -> Void) -> ParkedKind {
        ParkedKind("mail", for: [.support]) { limit, reader in
            try reader.rows("SELECT \(columns) FROM mails WHERE \(isParked) ORDER BY id DESC LIMIT ?", [.int(limit)])
                .map(item)
        } count: { reader in
            try reader.rows("SELECT count(*) AS count FROM mails WHERE \(isParked)", []).first?.int("count") ?? 0
        } retry: { id, transaction in
            guard let row = try row(id, in: transaction) else { return nil }
            try MailQueue.retry(row.int("id"), in: transaction)
            transaction.afterCommit(wake)
            return try item(row)
        } drop: { id, transaction in
            guard let row = try row(id, in: transaction) else { return nil }
            try transaction.execute("UPDATE mails SET model = ? WHERE id = ?", [.blob([]), row["id"]])
            return try item(row)
        }
    }

    private static func row(_ id: String, in transaction: StoreTransaction) throws -> SQLRow? {
        guard let id = Int64(id) else { return nil }
        return try transaction.rows("SELECT \(columns) FROM mails WHERE id = ? AND \(isParked)", [.int(id)]).first
    }

    private static func item(_ row: SQLRow) throws -> ParkedKind.Item {
        let number = try row["orderNo"].intValue
        return try ParkedKind.Item(
            id: String(row.int("id")), about: "\(row.text("template")) to \(MailList.masked(row.text("toAddress")))",
            reason: MailList.maskedText(row["problem"].textValue ?? ""),
            since: Timestamp(milliseconds: row.int("dueAt")), attempts: row.int("attempts"),
            more: number.map { ["orderNo": .int($0)] } ?? [:])
    }
}
