import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

extension CheckoutLedger {
    /// Ends a checkout whose payment remains undecided, so that the customer can use the bag again. An operator decides
    /// this. The provider may still charge the customer; payments refunds such a charge (`payments.undoCharge.v1`).
    /// - Returns: the function's answer.
    /// - Throws: `.objectNotFound` (101) for a missing order, `.validationError` (142) when no payment of it is
    ///   running.
    package func free(
        _ orderId: String, reason: String, by origin: AuditOrigin?, for share: WorkShare?
    ) async throws -> JSON {
        try await store.write(for: share) { transaction in
            let order = try OrderRecord(orderId, in: transaction)
            guard let id = try Self.running(orderId, in: transaction),
                let row = try transaction.rows("SELECT * FROM checkouts WHERE id = ?", [.text(id)]).first
            else { throw ParseError(.validationError, "This order is not being paid: there is no payment to give up.") }
            let record = try CheckoutRecord(row)
            _ = try endWithoutOrder(
                record.checkout, Self.givenUpByShop, undoesCharge: record.mayBeCharged, in: transaction)
            let entry = AuditNote(
                "cancelOrder", "Order", orderId, before: nil,
                after: ["freeBag": true, "checkoutId": .string(id), "reason": .string(reason)])
            if let changes = origin?.changes([entry], at: transaction.now) {
                try outbox.add(UsersCalls.audit, changes, key: AuditOrigin.key(), in: transaction)
            }
            var answer = order.answer
            answer["warning"] = .string(Self.warning)
            return answer
        }
    }

    private static let givenUpByShop = ParseError(
        .scriptFailed, "The shop gave up this payment. If it was charged, it is refunded.",
        details: ["type": "api_error", "code": "payment_given_up"])

    private static let warning = """
        The bag is free although the payment is undecided. If the provider still charges the customer, Satchel refunds \
        the charge as soon as it knows. Check the charge at the provider.
        """
}
