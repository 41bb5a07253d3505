import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The refunds of charges without an order (`ChargeUndo`) that the provider refused, as parked work. Bag parks the
/// refunds of orders itself.
package enum ParkedUndos {
    static let columns = [
        "ALTER TABLE refunds ADD COLUMN isParked INTEGER NOT NULL DEFAULT 0",
        "UPDATE refunds SET isParked = 1 WHERE state = 'refused' AND operationId LIKE '%:undo'",
        "CREATE INDEX refundsParked ON refunds(changedAt) WHERE isParked = 1",
    ]

    private static let parked = """
        SELECT refunds.*, charges.currency, charges.orderId FROM refunds
        JOIN charges ON charges.operationId = refunds.chargeOperationId WHERE refunds.isParked = 1
        """

    package static var kind: ParkedKind {
        ParkedKind("refund", for: [.orders]) { limit, reader in
            try reader.rows("\(parked) ORDER BY refunds.changedAt DESC LIMIT ?", [.int(limit)]).map(item)
        } count: { reader in
            try reader.rows("SELECT count(*) AS count FROM refunds WHERE isParked = 1", []).first?.int("count") ?? 0
        } retry: { id, transaction in
            guard let row = try take(id, in: transaction) else { return nil }
            // Another operation: the outcome of the first one never changes.
            let charge = try row.text("chargeOperationId")
            let again = RefundRequest.with {
                $0.operationID = "\(charge)\(ChargeUndo.suffix):\(Names.random(8))"
                $0.chargeOperationID = charge
                $0.amountMinorUnits = 0
            }
            _ = try RefundLedger.begin(again, in: transaction)
            // The background work of the writer asks the provider.
            try transaction.execute(
                "UPDATE refunds SET dueAt = ? WHERE operationId = ? AND state = 'created'",
                [.int(transaction.now.milliseconds), .text(again.operationID)])
            return try item(row)
        } drop: { id, transaction in
            try take(id, in: transaction).map(item)
        }
    }

    private static func take(_ id: String, in transaction: StoreTransaction) throws -> SQLRow? {
        let rows = try transaction.rows("\(parked) AND refunds.operationId = ?", [.text(id)])
        try transaction.execute("UPDATE refunds SET isParked = 0 WHERE operationId = ?", [.text(id)])
        return rows.first
    }

    private static func item(_ row: SQLRow) throws -> ParkedKind.Item {
        try ParkedKind.Item(
            id: row.text("operationId"), about: "refund of a charge without an order",
            reason: ProviderFailure(stored: row.text("failure")).message,
            since: Timestamp(milliseconds: row.int("changedAt")), attempts: row.int("attempts") + 1,
            more: ["amount": .int(row.int("amount")), "currency": .string(row.text("currency").uppercased())])
    }
}
