/// Faults that tests plant in copies of a shop's databases: one for each check, which finds it and no other.
struct BookFault {
    /// The check that finds it.
    let check: String
    let service: String
    /// `{Order}` is the table of a class.
    let sql: [String]

    init(_ check: String, _ service: String, _ sql: String...) {
        (self.check, self.service, self.sql) = (check, service, sql)
    }

    /// A paid order without refunds, as bag, payments and analytics know it.
    private static let checkout = """
        (SELECT min(id) FROM checkouts
        WHERE state = 'made' AND amount > 0 AND orderId NOT IN (SELECT orderId FROM refunds))
        """
    private static let charge = """
        (SELECT min(operationId) FROM charges
        WHERE state = 'succeeded' AND operationId NOT IN (SELECT chargeOperationId FROM refunds))
        """
    private static let sale = "(SELECT min(orderId) FROM sales WHERE orderId NOT IN (SELECT orderId FROM refunds))"
    private static let order = "(SELECT orderId FROM checkouts WHERE id = \(checkout))"
    private static let reservation = """
        (SELECT min(id) FROM reservations
        WHERE state = 'committed' AND id NOT IN (SELECT reservationId FROM restockedPieces))
        """
    private static let lastHour = "hour = (SELECT max(hour) FROM salesHours)"

    static let all = bag + payments + catalog + reports

    private static let bag: [BookFault] = [
        BookFault(
            "bag.number", "bag",
            "UPDATE {Order} SET doc = json_set(doc, '$.orderNo', 5) WHERE json_extract(doc, '$.orderNo') = 6",
            "UPDATE orderEntries SET orderNo = 5 WHERE orderNo = 6"),
        BookFault(
            "bag.counter", "bag",
            "UPDATE counters SET value = 1000000 WHERE name = 'orderNo'"),
        BookFault(
            "bag.total", "bag",
            "UPDATE {Order} SET doc = json_set(doc, '$.total', 1) WHERE objectId = \(order)",
            "UPDATE orderEntries SET total = 1 WHERE orderId = \(order)"),
        BookFault(
            "bag.refunds", "bag",
            "UPDATE {Order} SET doc = json_set(doc, '$.refundedTotal', 1) WHERE objectId = \(order)"),
        BookFault(
            "bag.overRefunded", "bag",
            """
            UPDATE {Order} SET doc = json_set(doc, '$.refundedTotal', 999999) WHERE json_extract(doc, '$.orderNo') =
            5
            """),
        BookFault(
            "bag.checkoutAge", "bag",
            """
            INSERT INTO checkouts(id, orderId, customerId, attempt, state, lines, source, email, orderFields,
            createdAt, updatedAt) VALUES ('co_old', 'none', '', 1, 'started', '[]', '{}', '', '{}', 0, 0)
            """),
        BookFault(
            "bag.refundAge", "bag",
            """
            INSERT INTO refunds(id, orderId, checkoutId, purpose, amount, reason, restock, state, createdAt,
            changedAt) VALUES ('rf_old', 'none', '', 'refund', 1, '', 0, 'pending', 0, 0)
            """),
        BookFault(
            "bag.entry", "bag",
            "DELETE FROM orderEntries WHERE orderNo = 5"),
        BookFault(
            "bag.origin", "bag",
            "DELETE FROM orderOrigins WHERE origin = 'code' AND orderId = (SELECT min(orderId) FROM orderOrigins)"),
        BookFault(
            "bag.customer", "bag",
            "UPDATE customers SET orders = orders + 1 WHERE customerId = (SELECT min(customerId) FROM customers)"),
        BookFault(
            "bag.outbox", "bag",
            "INSERT INTO outbox(key, kind, body, dueAt) VALUES ('outbox:old', 'mail.send.v1', x'', 0)"),
        BookFault(
            "push.parked", "push",
            """
            INSERT INTO parkedMessages(key, kind, body, problem, parkedAt) VALUES ('outbox:parked',
            'users.audit.v1', x'', 'Refused.', 0)
            """),
        BookFault(
            "order.once", "bag",
            """
            INSERT INTO checkouts(id, orderId, customerId, attempt, state, lines, source, email, orderFields,
            amount, currency, orderNo, createdAt, updatedAt) SELECT 'co_second', orderId, customerId, 2, 'made',
            lines, '{}', '', '{}', amount, currency, orderNo, 0, 0 FROM checkouts WHERE amount = 0 AND state =
            'made' LIMIT 1
            """),
    ]

    private static let payments: [BookFault] = [
        BookFault(
            "payments.overRefunded", "payments",
            """
            INSERT INTO charges(operationId, orderId, userId, amount, currency, requested, source, state, chargeId,
            createdAt, changedAt) VALUES ('adopted:ch_a', 'none', '', 1, 'usd', '', '', 'abandoned', 'ch_a', 0, 0)
            """,
            """
            INSERT INTO refunds(operationId, chargeOperationId, requested, amount, state, dueAt, createdAt,
            changedAt) VALUES ('rf_a', 'adopted:ch_a', 2, 2, 'succeeded', 0, 0, 0)
            """),
        BookFault(
            "payments.ledger", "payments",
            "UPDATE sandboxCharges SET amount = amount + 1 WHERE key = \(charge)"),
        BookFault(
            "payments.unknown", "payments",
            """
            INSERT INTO sandboxCharges(key, chargeId, orderId, source, amount, currency, createdAt) VALUES
            ('co_unknown', 'ch_u', 'none', '', 5, 'usd', 0)
            """),
        BookFault(
            "payments.ledgerRefund", "payments",
            "DELETE FROM sandboxRefunds WHERE key = (SELECT min(key) FROM sandboxRefunds)"),
        BookFault(
            "payments.chargeAge", "payments",
            """
            INSERT INTO charges(operationId, orderId, userId, amount, currency, requested, source, state, createdAt,
            changedAt) VALUES ('co_open', 'none', '', 1, 'usd', '', '', 'created', 0, 0)
            """),
        BookFault(
            "payments.refundAge", "payments",
            """
            INSERT INTO refunds(operationId, chargeOperationId, requested, amount, state, dueAt, createdAt,
            changedAt) VALUES ('rf_open', 'none', 1, 0, 'created', 0, 0, 0)
            """),
        BookFault(
            "order.charge", "payments",
            "UPDATE sandboxCharges SET amount = amount + 1 WHERE key = \(charge)",
            "UPDATE charges SET amount = amount + 1 WHERE operationId = \(charge)"),
        BookFault(
            "order.refund", "payments",
            """
            INSERT INTO sandboxRefunds(key, refundId, chargeId, amount, createdAt) SELECT 'rf_more', 're_more',
            chargeId, 1, 0 FROM charges WHERE operationId = \(charge)
            """,
            """
            INSERT INTO refunds(operationId, chargeOperationId, requested, amount, state, dueAt, createdAt,
            changedAt) SELECT 'rf_more', \(charge), 1, 1, 'succeeded', 0, 0, 0
            """),
        BookFault(
            "charge.order", "payments",
            """
            INSERT INTO charges(operationId, orderId, userId, amount, currency, requested, source, state, chargeId,
            createdAt, changedAt) VALUES ('co_lost', 'none', '', 5, 'usd', '', '', 'succeeded', 'ch_l', 0, 0)
            """,
            """
            INSERT INTO sandboxCharges(key, chargeId, orderId, source, amount, currency, createdAt) VALUES
            ('co_lost', 'ch_l', 'none', '', 5, 'usd', 0)
            """),
    ]

    private static let catalog: [BookFault] = [
        BookFault(
            "catalog.stock", "catalog",
            """
            INSERT INTO stockMoves(productId, pieces, reason, reservationId, orderId, madeBy, at)
            SELECT objectId, -1 - json_extract(doc, '$.stock'), 'adjusted', '', '', '', 0 FROM {Product}
            WHERE id = (SELECT min(id) FROM {Product})
            """,
            "UPDATE {Product} SET doc = json_set(doc, '$.stock', -1) WHERE id = (SELECT min(id) FROM {Product})"),
        BookFault(
            "catalog.stockSum", "catalog",
            "UPDATE {Product} SET doc = json_set(doc, '$.stock', 7) WHERE id = (SELECT min(id) FROM {Product})"),
        BookFault(
            "catalog.sold", "catalog",
            "DELETE FROM stockMoves WHERE reason = 'sold' AND pieces = 0 AND reservationId = \(reservation)"),
        BookFault(
            "catalog.reservationAge", "catalog",
            "INSERT INTO reservations(id, state, expiresAt, changedAt) VALUES ('co_reserved', 'reserved', 0, 0)"),
        BookFault(
            "catalog.held", "catalog",
            "INSERT INTO reservations(id, state, expiresAt, changedAt) VALUES ('co_held', 'released', 0, 0)",
            """
            INSERT INTO reservationLines(reservationId, line, productId, quantity, unitPriceMinorUnits, name, taken)
            VALUES ('co_held', 0, 'none', 1, 1, '', 1)
            """),
        BookFault(
            "catalog.returned", "catalog",
            """
            UPDATE restockedPieces SET pieces = pieces + 1000 WHERE reservationId = (SELECT min(reservationId) FROM
            restockedPieces)
            """),
        BookFault(
            "catalog.rating", "catalog",
            """
            UPDATE productRatings SET total = total + 1 WHERE productId = (SELECT min(productId) FROM productRatings
            WHERE count > 0)
            """),
        BookFault(
            "catalog.favorite", "catalog",
            """
            INSERT INTO {FavoriteProduct}(objectId, createdAt, updatedAt, publicRead, publicWrite, doc) SELECT
            'twice', createdAt, updatedAt, publicRead, publicWrite, doc FROM {FavoriteProduct} LIMIT 1
            """),
        BookFault(
            "catalog.favoriteProduct", "catalog",
            """
            UPDATE {FavoriteProduct} SET doc = json_set(doc, '$.product.objectId', 'gone') WHERE id = (SELECT
            min(id) FROM {FavoriteProduct})
            """),
        BookFault(
            "order.reservation", "catalog",
            "UPDATE stockMoves SET reservationId = '' WHERE reservationId = \(reservation)",
            "UPDATE reservationLines SET taken = 0 WHERE reservationId = \(reservation)",
            "UPDATE reservations SET state = 'released' WHERE id = \(reservation)"),
        BookFault(
            "reservation.order", "catalog",
            "INSERT INTO reservations(id, state, expiresAt, changedAt) VALUES ('co_given', 'committed', 0, 0)"),
    ]

    private static let reports: [BookFault] = [
        BookFault(
            "analytics.sums", "analytics",
            "UPDATE salesHours SET orders = orders + 1 WHERE \(lastHour)"),
        BookFault(
            "mail.age", "mail",
            """
            INSERT INTO mails(key, template, toAddress, toName, model, messageId, state, queuedAt, dueAt) VALUES
            ('old', 'message', '', '', x'', 'old', 'queued', 0, 0)
            """),
        BookFault(
            "mail.confirmation", "mail",
            """
            INSERT INTO mails(key, template, toAddress, toName, model, messageId, state, queuedAt, dueAt, orderNo)
            SELECT 'outbox:checkout:co_twice:mail', template, '', '', x'', 'twice', 'sent', 0, 0, orderNo FROM mails
            WHERE key LIKE 'outbox:checkout:%:mail' LIMIT 1
            """),
        BookFault(
            "order.mail", "mail",
            "DELETE FROM mails WHERE key = (SELECT min(key) FROM mails WHERE key LIKE 'outbox:checkout:%:mail')"),
        BookFault(
            "order.sale", "analytics",
            """
            UPDATE salesHours SET orders = orders - 1, grossMinorUnits = grossMinorUnits - (SELECT totalMinorUnits
            FROM sales WHERE orderId = \(sale)) WHERE \(lastHour)
            """,
            "DELETE FROM sales WHERE orderId = \(sale)"),
        BookFault(
            "sale.amount", "analytics",
            "UPDATE sales SET orderNumber = orderNumber + 1000 WHERE orderId = \(sale)"),
        BookFault(
            "sale.refund", "analytics",
            "INSERT INTO refunds(orderId, status, changedAt, minorUnits, currency) SELECT \(sale), -2, 0, 1, 'usd'",
            "UPDATE salesHours SET refundedMinorUnits = refundedMinorUnits + 1 WHERE \(lastHour)"),
        BookFault(
            "sale.order", "analytics",
            """
            INSERT INTO sales(orderId, orderNumber, userId, totalMinorUnits, currency, pieces, madeAt) VALUES
            ('none', 9, '', 5, 'usd', 1, (SELECT max(madeAt) FROM sales))
            """,
            "UPDATE salesHours SET orders = orders + 1, grossMinorUnits = grossMinorUnits + 5 WHERE \(lastHour)"),
    ]
}
