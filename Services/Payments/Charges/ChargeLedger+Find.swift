import ObjectStore
import ParseProtocol

extension ChargeLedger {
    /// The ledger's state of an operation.
    package enum Found: Sendable, Hashable {
        case answer(ChargeOutcome)
        /// Started and undecided: the provider must be asked.
        case askProvider(ChargeOrder)
        /// Not made, and never will be.
        case never
    }

    /// Looks up an operation. An operation that was never started is abandoned at once, so that a charge that arrives
    /// later is refused.
    static func find(_ operationId: String, in transaction: StoreTransaction) throws -> Found {
        guard let row = try row(operationId, in: transaction) else {
            _ = try transaction.execute(
                """
                INSERT INTO charges(operationId, orderId, userId, amount, currency, requested, source, state, \
                createdAt, changedAt)
                VALUES (?1, '', '', 0, '', '', '', 'abandoned', ?2, ?2)
                """, [.text(operationId), .int(transaction.now.milliseconds)])
            return .never
        }
        guard try row.text("state") != "abandoned" else { return .never }
        switch try step(row) {
        case .answer(let outcome): return .answer(outcome)
        case .askProvider(let order): return .askProvider(order)
        }
    }

    /// Abandons a charge after the provider confirmed that it was not made and never will be.
    static func abandon(_ operationId: String, in transaction: StoreTransaction) throws {
        try UndecidedReasons.clear(operationId, in: transaction)
        _ = try transaction.execute(
            "UPDATE charges SET state = 'abandoned', changedAt = ? WHERE operationId = ? AND state = 'created'",
            [.int(transaction.now.milliseconds), .text(operationId)])
    }
}
