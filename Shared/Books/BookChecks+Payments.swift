extension BookCheck {
    static let payments: [BookCheck] = [
        BookCheck(
            name: "payments.overRefunded", says: "The refunds of a charge do not exceed it.",
            remedy: "Compare with the provider's page of the charge.",
            counts: .rows("charges WHERE state = 'succeeded'"),
            finds: { _ in
                """
                SELECT c.operationId AS name, 'Refunded ' || r.given || ' of ' || c.amount AS found FROM charges c
                JOIN (SELECT chargeOperationId AS id, sum(amount) AS given FROM refunds WHERE state = 'succeeded'
                GROUP BY chargeOperationId) AS r ON r.id = c.operationId WHERE r.given > c.amount
                """
            }),
        BookCheck(
            name: "payments.ledger", says: "The sandbox has each charge that succeeded there.",
            remedy: "The database was changed from outside, or restored alone: restore all services together.",
            counts: .rows("sandboxCharges"),
            finds: { _ in
                """
                SELECT c.operationId AS name, 'Charged ' || c.amount || ' ' || c.currency || '; the sandbox has ' ||
                coalesce(s.amount || ' ' || s.currency, 'nothing') AS found
                FROM charges c LEFT JOIN sandboxCharges s ON s.key = c.operationId
                WHERE c.state = 'succeeded' AND c.operationId NOT LIKE 'adopted:%'
                AND NOT EXISTS (SELECT 1 FROM stripeOperations o WHERE o.key = c.operationId)
                AND (s.key IS NULL OR s.amount <> c.amount OR s.currency <> c.currency OR s.failure IS NOT NULL
                OR s.chargeId <> coalesce(c.chargeId, ''))
                """
            }),
        BookCheck(
            name: "payments.unknown", says: "Payments knows each charge that the sandbox made.",
            remedy: "Refund the charge: no order belongs to it.",
            counts: .rows("sandboxCharges WHERE failure IS NULL"),
            finds: { _ in
                """
                SELECT s.key AS name, s.amount || ' ' || s.currency || ', ' || coalesce(c.state, 'no charge') AS found
                FROM sandboxCharges s LEFT JOIN charges c ON c.operationId = s.key
                WHERE s.key LIKE 'co!_%' ESCAPE '!' AND s.failure IS NULL
                AND coalesce(c.state, '') NOT IN ('succeeded', 'created')
                AND s.amount > (SELECT coalesce(sum(r.amount), 0) FROM sandboxRefunds r WHERE r.chargeId = s.chargeId)
                """
            }),
        BookCheck(
            name: "payments.ledgerRefund", says: "The sandbox has each refund that succeeded there.",
            remedy: "The customer has not got this money: refund it at the provider.",
            counts: .rows("sandboxRefunds"),
            finds: { _ in
                """
                SELECT r.operationId AS name, 'Refunded ' || r.amount || '; the sandbox has ' ||
                coalesce(CAST(s.amount AS TEXT), 'nothing') AS found FROM refunds r
                JOIN sandboxCharges c ON c.key = r.chargeOperationId
                LEFT JOIN sandboxRefunds s ON s.key = r.operationId
                WHERE r.state = 'succeeded' AND r.amount > 0 AND (s.key IS NULL OR s.amount <> r.amount)
                """
            }),
        BookCheck(
            name: "payments.chargeAge", says: "A charge is decided within a day.",
            remedy: "Look it up at the provider; the page of payments shows why it is undecided.",
            counts: .rows("charges WHERE state = 'created'"),
            finds: {
                """
                SELECT c.operationId AS name, c.amount || ' ' || c.currency || ', order ' || c.orderId AS found
                FROM charges c WHERE c.state = 'created' AND c.createdAt < \($0.before(checkoutAge))
                """
            }),
        BookCheck(
            name: "payments.refundAge", says: "The provider decides a refund within a day.",
            remedy: "Look up the charge at the provider; the page of payments shows the last error.",
            counts: .rows("refunds WHERE state = 'created'"),
            finds: {
                """
                SELECT r.operationId AS name, r.requested || ' of ' || r.chargeOperationId AS found
                FROM refunds r WHERE r.state = 'created' AND r.createdAt < \($0.before(BookTables.day))
                """
            }),
    ]
}
