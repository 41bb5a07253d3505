import ObjectStore
import ParseProtocol
import ServiceKit

/// The received events, each stored once.
package enum PaymentEvents {
    /// The effect of an event.
    package enum Effect: String, Sendable {
        /// It decided a charge whose answer was lost.
        case decided
        /// It matches the stored state.
        case known
        /// It concerns no operation of this shop.
        case unknown
        /// The customer was charged, and the stored state says otherwise.
        case contradiction
        /// A refund that was not made here, for example in Stripe's dashboard.
        case elsewhere
        case dispute
        /// A refund that had succeeded counts as refused.
        case refundFailed
    }

    /// Stores an event and its effect in one transaction. Nil for an event that was already received.
    static func add(
        _ event: PaymentEvent, _ outbox: Outbox, in transaction: StoreTransaction
    ) throws -> Effect? {
        guard try transaction.rows("SELECT 1 FROM paymentEvents WHERE eventId = ?", [.text(event.id)]).isEmpty else {
            return nil
        }
        let charge = try charge(of: event, in: transaction)
        let effect = try effect(of: event, on: charge, outbox, in: transaction)
        _ = try transaction.execute(
            """
            INSERT INTO paymentEvents(eventId, type, objectId, operationId, amount, currency, effect, createdAt, \
            receivedAt)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(event.id), .text(event.type), .text(event.objectId),
                .text(charge?.text("operationId") ?? event.operationId), .int(event.amount), .text(event.currency),
                .text(effect.rawValue), .int(event.milliseconds), .int(transaction.now.milliseconds),
            ])
        return effect
    }

    /// Finds the charge by the provider's id. An undecided charge has none yet and is found by the operation id in the
    /// metadata.
    private static func charge(of event: PaymentEvent, in transaction: StoreTransaction) throws -> SQLRow? {
        for id in event.chargeIds {
            if let row = try transaction.rows("SELECT * FROM charges WHERE chargeId = ?", [.text(id)]).first {
                return row
            }
        }
        // The metadata of a refund have its own operation id.
        let refund = try RefundLedger.row(event.operationId, in: transaction)
        return try ChargeLedger.row(
            refund?.text("chargeOperationId") ?? event.operationId, in: transaction)
    }

    private static func effect(
        of event: PaymentEvent, on charge: SQLRow?, _ outbox: Outbox, in transaction: StoreTransaction
    ) throws -> Effect {
        guard let charge else { return event.kind == .disputed ? .dispute : .unknown }
        switch event.kind {
        case .succeeded: return try succeeded(event, charge, in: transaction)
        case .refunded:
            let operationId = try charge.text("operationId")
            // The event's amount may include refunds that failed after it.
            let refunded =
                try RefundLedger.refunded(of: operationId, in: transaction)
                + RefundLedger.failed(of: operationId, since: event.milliseconds, in: transaction)
            return event.amount > refunded ? .elsewhere : .known
        case .refundFailed, .refundUpdated, .chargeRefundUpdated:
            guard ProviderFailure.refundFailures.contains(event.status) else { return .known }
            return try RefundLedger.fail(event, outbox, in: transaction)
        case .disputed: return .dispute
        case .failed, .canceled, nil: return .known
        }
    }

    private static func succeeded(
        _ event: PaymentEvent, _ charge: SQLRow, in transaction: StoreTransaction
    ) throws -> Effect {
        let operationId = try charge.text("operationId")
        switch try charge.text("state") {
        case "succeeded": return try charge.text("chargeId") == event.objectId ? .known : .contradiction
        case "created":
            // Only the intent that this service created for the operation decides it.
            guard try StripeOperations.row(operationId, in: transaction)?.intentId == event.objectId,
                try charge.int("amount") == event.amount, try charge.text("currency") == event.currency
            else { return .contradiction }
            let made = ProviderCharge(id: event.objectId, brand: "", lastFourDigits: "")
            _ = try ChargeLedger.decide(operationId, .succeeded(made), in: transaction)
            return .decided
        default: return .contradiction
        }
    }

    /// Newest first.
    static func newest(_ limit: Int64, in store: ObjectReader) throws -> [JSON] {
        try store.rows("SELECT * FROM paymentEvents ORDER BY id DESC LIMIT ?", [.int(limit)]).map { row in
            try [
                "eventId": .string(row.text("eventId")), "type": .string(row.text("type")),
                "providerId": .string(row.text("objectId")), "operationId": .string(row.text("operationId")),
                "amount": .int(row.int("amount")), "currency": .string(row.text("currency")),
                "effect": .string(row.text("effect")),
                "createdAt": .string(Timestamp(milliseconds: row.int("createdAt")).iso),
                "receivedAt": .string(Timestamp(milliseconds: row.int("receivedAt")).iso),
            ]
        }
    }
}
