import ObjectStore
import ParseProtocol

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
        /// The bank did not take a refund that Stripe had accepted. The order still shows it.
        case refundFailed
    }

    /// Stores an event and its effect in one transaction. Nil for an event that was already received.
    static func add(_ event: PaymentEvent, in transaction: StoreTransaction) throws -> Effect? {
        guard try transaction.rows("SELECT 1 FROM paymentEvents WHERE eventId = ?", [.text(event.id)]).isEmpty else {
            return nil
        }
        let charge = try charge(of: event, in: transaction)
        let effect = try effect(of: event, on: charge, in: transaction)
        _ = try transaction.execute(
            """
            INSERT INTO paymentEvents(eventId, type, objectId, operationId, amount, currency, effect, createdAt, \
            receivedAt)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(event.id), .text(event.type), .text(event.objectId),
                .text(charge?.text("operationId") ?? event.operationId), .int(event.amount), .text(event.currency),
                .text(effect.rawValue), .int(event.createdAt.multipliedReportingOverflow(by: 1000).partialValue),
                .int(transaction.now.milliseconds),
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
        return try ChargeLedger.row(event.operationId, in: transaction)
    }

    private static func effect(
        of event: PaymentEvent, on charge: SQLRow?, in transaction: StoreTransaction
    ) throws -> Effect {
        guard let charge else { return event.kind == .disputed ? .dispute : .unknown }
        switch event.kind {
        case .succeeded: return try succeeded(event, charge, in: transaction)
        case .refunded:
            let refunded = try RefundLedger.refunded(of: charge.text("operationId"), in: transaction)
            return event.amount > refunded ? .elsewhere : .known
        case .disputed: return .dispute
        case .refundFailed:
            let accepted = try transaction.rows(
                "SELECT 1 FROM refunds WHERE refundId = ? AND state = 'succeeded'", [.text(event.objectId)])
            return accepted.isEmpty ? .known : .refundFailed
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
    static func newest(_ limit: Int64, in store: some ObjectReading) throws -> [JSON] {
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
