import ObjectStore
import ParseProtocol

extension ChargeLedger {
    /// The ledger's knowledge of an operation.
    package enum Found: Sendable, Hashable {
        case answer(ChargeOutcome)
        /// Begun and undecided: the provider knows.
        case askProvider(ChargeOrder)
        /// Not made, and it never will be.
        case never
    }

    /// Looks an operation up. One that was never begun is given up at once, so that a charge that arrives later finds
    /// it so.
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

    /// Gives up a charge of which the provider said that it was not made and never will be.
    static func abandon(_ operationId: String, in transaction: StoreTransaction) throws {
        try OpenProblems.clear(operationId, in: transaction)
        _ = try transaction.execute(
            "UPDATE charges SET state = 'abandoned', changedAt = ? WHERE operationId = ? AND state = 'created'",
            [.int(transaction.now.milliseconds), .text(operationId)])
    }
}
