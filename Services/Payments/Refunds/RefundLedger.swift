import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
import ServiceKit

/// The outcome of a refund. Only a refund that succeeded may change, to refused.
package enum RefundOutcome: Sendable, Hashable {
    case succeeded(ProviderRefund, amountMinorUnits: Int64)
    case refused(ProviderFailure)
}

/// The stored state of a refund, with the same recovery points as a charge: no row, `created`, and `succeeded` or
/// `refused`. The refunds of a charge, except refused ones, never exceed the charge.
package enum RefundLedger {
    package enum Step: Sendable, Hashable {
        case askProvider(RefundOrder)
        case answer(RefundOutcome)
    }

    /// After this time the background work asks, too. The sender's own attempt may still run: both have one key.
    private static let firstAttempt = Duration.seconds(15)

    /// Finds the operation or starts it.
    /// - Throws: `.objectNotFound` (101) for a charge that is unknown or was not made, `.validationError` (142) when
    ///   the amount exceeds the rest of the charge or the operation id was used for another refund,
    ///   `.serviceUnavailable` (2) while the charge itself is undecided.
    static func begin(_ request: RefundRequest, in transaction: StoreTransaction) throws -> Step {
        if let row = try row(request.operationID, in: transaction) {
            guard try row.text("chargeOperationId") == request.chargeOperationID,
                try row.int("requested") == request.amountMinorUnits
            else { throw ParseError(.validationError, "This operation id was used for another refund.") }
            return try step(row, in: transaction)
        }
        guard let charge = try ChargeLedger.row(request.chargeOperationID, in: transaction) else {
            throw ParseError.objectNotFound
        }
        switch try charge.text("state") {
        case "succeeded": break
        case "created": throw ParseError(.serviceUnavailable, "The charge is undecided; ask again in a moment.")
        default: throw ParseError.objectNotFound
        }
        let left = try charge.int("amount") - refunded(of: request.chargeOperationID, in: transaction)
        let amount = request.amountMinorUnits == 0 ? left : request.amountMinorUnits
        guard amount > 0, amount <= left else {
            throw ParseError(
                .validationError, "The refund exceeds the rest of the charge, which is \(max(left, 0)).")
        }
        _ = try transaction.execute(
            """
            INSERT INTO refunds(operationId, chargeOperationId, requested, amount, state, dueAt, createdAt, changedAt)
            VALUES (?1, ?2, ?3, ?4, 'created', ?5, ?6, ?6)
            """,
            [
                .text(request.operationID), .text(request.chargeOperationID), .int(request.amountMinorUnits),
                .int(amount), .int(transaction.now.advanced(by: firstAttempt).milliseconds),
                .int(transaction.now.milliseconds),
            ])
        return try .askProvider(order(amount, of: charge, begunAt: transaction.now))
    }

    /// Stores the provider's decision, unless one is stored.
    /// - Returns: the stored outcome.
    static func decide(
        _ operationId: String, _ outcome: Result<ProviderRefund, ProviderFailure>, in transaction: StoreTransaction
    ) throws -> RefundOutcome {
        let values: [SQLValue] =
            switch outcome {
            case .success(let refund): ["succeeded", .text(refund.id), .null]
            case .failure(let failure): ["refused", .null, .text(failure.stored)]
            }
        var isParked = false
        if case .failure = outcome { isParked = operationId.contains(ChargeUndo.suffix) }
        let count = try transaction.execute(
            """
            UPDATE refunds SET state = ?, refundId = ?, failure = ?, changedAt = ?, isParked = ?
            WHERE operationId = ? AND state = 'created'
            """, values + [.int(transaction.now.milliseconds), .int(isParked ? 1 : 0), .text(operationId)])
        if count > 0 {
            let name = if case .success = outcome { "succeeded" } else { "refused" }
            transaction.afterCommit { Metric.payments.count(("kind", "refunds"), ("outcome", name)) }
        }
        try UndecidedReasons.clear(operationId, in: transaction)
        guard let row = try row(operationId, in: transaction), case .answer(let stored) = try step(row, in: transaction)
        else { throw ParseError.internalError }
        return stored
    }

    /// The provider reports that a refund gave nothing back, perhaps after it had accepted it: the money is the shop's
    /// again, so it does not count as refunded.
    static func fail(
        _ event: PaymentEvent, _ outbox: Outbox, in transaction: StoreTransaction
    ) throws -> PaymentEvents.Effect {
        let id = event.operationId
        guard let row = try row(id, in: transaction), try row.int("amount") == event.amount else { return .elsewhere }
        let failure = ProviderFailure(refund: event.status, reason: event.failureReason)
        switch try row.text("state") {
        case "created":
            // Stripe repeats its first answer under the key, from before the failure.
            _ = try decide(id, .failure(failure), in: transaction)
            return .decided
        case "succeeded":
            guard try row.text("refundId") == event.objectId else { return .elsewhere }
        default: return .known
        }
        let hasOrder = !id.contains(ChargeUndo.suffix)
        try transaction.execute(
            "UPDATE refunds SET state = 'refused', failure = ?, changedAt = ?, isParked = ? WHERE operationId = ?",
            [.text(failure.stored), .int(transaction.now.milliseconds), .int(hasOrder ? 0 : 1), .text(id)])
        transaction.afterCommit { Metric.payments.count(("kind", "refunds"), ("outcome", "refused")) }
        if hasOrder {
            let message = RefundFailed.with {
                $0.operationID = id
                $0.problem = failure.message
            }
            try outbox.add(BagCalls.refundFailed, message, key: "refund:\(id):failed", in: transaction)
        }
        return .refundFailed
    }

    private static let backoff = Backoff(first: .seconds(2), longest: .seconds(600))

    static let waits = StoredWaits("dueAt", of: "refunds", atMost: backoff.longest, where: "state = 'created'")

    /// Postpones an undecided refund: two seconds, doubling up to ten minutes.
    static func postpone(_ operationId: String, in transaction: StoreTransaction) throws {
        let attempts = try row(operationId, in: transaction)?.int("attempts") ?? 0
        let pause = backoff.pause(afterFailures: Int(attempts) + 1)
        _ = try transaction.execute(
            "UPDATE refunds SET attempts = attempts + 1, dueAt = ? WHERE operationId = ? AND state = 'created'",
            [.int(transaction.now.advanced(by: pause).milliseconds), .text(operationId)])
    }

    /// Undecided refunds whose next attempt is due, longest due first.
    static func due(at now: Timestamp, limit: Int64, in store: ObjectReader) throws -> [(String, RefundOrder)] {
        try store.rows(
            "SELECT * FROM refunds WHERE state = 'created' AND dueAt <= ? ORDER BY dueAt LIMIT ?",
            [.int(now.milliseconds), .int(limit)]
        ).compactMap { row in
            guard case .askProvider(let order) = try step(row, in: store) else { return nil }
            return try (row.text("operationId"), order)
        }
    }

    static func row(_ operationId: String, in store: ObjectReader) throws -> SQLRow? {
        try store.rows("SELECT * FROM refunds WHERE operationId = ?", [.text(operationId)]).first
    }

    /// The refunded amount of a charge, including pending refunds.
    static func refunded(of operationId: String, in store: ObjectReader) throws -> Int64 {
        try store.rows(
            "SELECT COALESCE(SUM(amount), 0) FROM refunds WHERE chargeOperationId = ? AND state <> 'refused'",
            [.text(operationId)]
        ).first?.int(0) ?? 0
    }

    /// The amount of a charge's refunds that had succeeded and failed since then, in milliseconds.
    static func failed(of operationId: String, since: Int64, in store: ObjectReader) throws -> Int64 {
        try store.rows(
            """
            SELECT COALESCE(SUM(amount), 0) FROM refunds
            WHERE chargeOperationId = ? AND state = 'refused' AND refundId IS NOT NULL AND changedAt >= ?
            """, [.text(operationId), .int(since)]
        ).first?.int(0) ?? 0
    }

    private static func order(_ amount: Int64, of charge: SQLRow, begunAt: Timestamp) throws -> RefundOrder {
        try RefundOrder(
            chargeId: charge.text("chargeId"), amountMinorUnits: amount, currency: charge.text("currency"),
            orderId: charge.text("orderId"), begunAt: begunAt)
    }

    private static func step(_ row: SQLRow, in store: ObjectReader) throws -> Step {
        switch try row.text("state") {
        case "succeeded":
            return try .answer(
                .succeeded(ProviderRefund(id: row.text("refundId")), amountMinorUnits: row.int("amount")))
        case "refused": return .answer(.refused(try ProviderFailure(stored: row.text("failure"))))
        default:
            guard let charge = try ChargeLedger.row(row.text("chargeOperationId"), in: store) else {
                throw ParseError.internalError
            }
            return try .askProvider(
                order(row.int("amount"), of: charge, begunAt: Timestamp(milliseconds: row.int("createdAt"))))
        }
    }
}
