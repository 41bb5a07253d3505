extension BookCheck {
    /// The longest time that `SATCHEL_PAYMENT_UNDECIDED_SECONDS` allows, and an hour.
    static let checkoutAge = 25 * BookTables.hour

    static let bag: [BookCheck] = [
        BookCheck(
            name: "bag.number", says: "An order number belongs to one order.",
            remedy: "Give one of the orders another orderNo with the master key, and tell its customer.",
            counts: .objects("Order"),
            finds: { tables in
                """
                SELECT CAST(n.number AS TEXT) AS name, 'Orders ' || min(n.id) || ' and ' || max(n.id) AS found
                FROM (SELECT \(tables.number("orderNo", "o")) AS number, o.objectId AS id
                FROM \(try tables.table("Order")) o) AS n
                WHERE n.number IS NOT NULL GROUP BY n.number HAVING count(*) > 1
                """
            }),
        BookCheck(
            name: "bag.counter", says: "The next order number is above all earlier ones.",
            remedy: "Restart bag: it looks up the highest number before it gives the next one.",
            counts: .rows("counters"),
            finds: { _ in
                """
                SELECT c.name AS name, 'It is ' || c.value || '; order ' || m.number || ' exists.' AS found
                FROM counters c, (SELECT max(orderNo) AS number FROM checkouts WHERE state = 'made') AS m
                WHERE c.name = 'orderNo' AND c.value < m.number
                """
            }),
        BookCheck(
            name: "bag.total", says: "A paid order has the total, currency and number of its checkout.",
            remedy: "Correct the order with the master key: the checkout has what the customer agreed to.",
            counts: .rows("checkouts WHERE state = 'made'"),
            finds: { tables in
                let (total, number) = (tables.number("total", "o"), tables.number("orderNo", "o"))
                let currency = tables.text("currency", "o")
                return """
                    SELECT o.objectId AS name, 'Order: ' || coalesce(\(total), 0) || ' ' || coalesce(\(currency), '') ||
                    ', no. ' || coalesce(\(number), 0) || '. Checkout: ' || coalesce(c.amount, 0) || ' ' ||
                    coalesce(c.currency, '') || ', no. ' || coalesce(c.orderNo, 0) AS found
                    FROM checkouts c JOIN \(try tables.table("Order")) o ON o.objectId = c.orderId
                    WHERE c.state = 'made' AND (coalesce(\(total), -1) <> coalesce(c.amount, 0)
                    OR coalesce(\(currency), '') <> coalesce(c.currency, '')
                    OR coalesce(\(number), -1) <> coalesce(c.orderNo, 0))
                    """
            }),
        BookCheck(
            name: "bag.refunds", says: "An order shows the sum of its refunds.",
            remedy: "Set the order's refundedTotal with the master key to the sum.",
            counts: .rows("checkouts WHERE state = 'made'"),
            finds: { tables in
                let shown = "coalesce(\(tables.number("refundedTotal", "o")), 0)"
                return """
                    SELECT r.id AS name, 'The order shows ' || r.shown || ', its refunds are ' || r.given AS found
                    FROM (SELECT o.objectId AS id, \(shown) AS shown, (SELECT coalesce(sum(g.amount), 0) FROM refunds g
                    WHERE g.orderId = o.objectId AND g.state = 'done') AS given
                    FROM checkouts c JOIN \(try tables.table("Order")) o ON o.objectId = c.orderId
                    WHERE c.state = 'made') AS r WHERE r.shown <> r.given
                    """
            }),
        BookCheck(
            name: "bag.overRefunded", says: "No more than an order's total is refunded, also of imported orders.",
            remedy: "Compare with the payment provider: if too much was given back, ask the customer for the rest.",
            counts: .objects("Order"),
            finds: { tables in
                let (total, shown) = (tables.number("total", "o"), tables.number("refundedTotal", "o"))
                return """
                    SELECT o.objectId AS name, 'Refunded ' || \(shown) || ' of ' || \(total) AS found
                    FROM \(try tables.table("Order")) o WHERE \(shown) > \(total)
                    """
            }),
        BookCheck(
            name: "bag.checkoutAge", says: "A checkout is decided within a day.",
            remedy: "Look up the charge at the provider; cancelOrder with freeBag gives the payment up.",
            counts: .rows("checkouts WHERE state NOT IN ('made', 'failed')"),
            finds: {
                """
                SELECT c.id AS name, 'Order ' || c.orderId || ' is ' || c.state AS found FROM checkouts c
                WHERE c.state NOT IN ('made', 'failed') AND c.createdAt < \($0.before(checkoutAge))
                """
            }),
        BookCheck(
            name: "bag.refundAge", says: "A refund is decided within a day.",
            remedy: "The order's page shows why payments has not decided it; the provider's page shows its state.",
            counts: .rows("refunds WHERE state = 'pending'"),
            finds: {
                """
                SELECT r.id AS name, 'Order ' || r.orderId || ', ' || r.amount AS found FROM refunds r
                WHERE r.state = 'pending' AND r.createdAt < \($0.before(BookTables.day))
                """
            }),
        BookCheck(
            name: "bag.entry", says: "Each placed order has its entry in the lists of the order desk.",
            remedy: "Save the order with the master key: that writes its entry.",
            counts: .rows("orderEntries"),
            finds: { tables in
                let orders = try tables.table("Order")
                return """
                    SELECT e.name AS name, e.found AS found FROM (
                    SELECT o.objectId AS name, 'It has no entry.' AS found FROM \(orders) o
                    LEFT JOIN orderEntries e ON e.orderId = o.objectId
                    WHERE e.orderId IS NULL AND coalesce(\(tables.number("orderStatus", "o")), 1) <> 0
                    UNION ALL SELECT e.orderId, 'The entry has no order, or another number or total.'
                    FROM orderEntries e LEFT JOIN \(orders) o ON o.objectId = e.orderId WHERE o.objectId IS NULL
                    OR e.orderNo <> coalesce(\(tables.number("orderNo", "o")), 0)
                    OR abs(e.total - coalesce(\(tables.number("total", "o")), 0)) >= 1) AS e
                    WHERE NOT EXISTS (SELECT 1 FROM orderEntriesAdded)
                    """
            }),
        BookCheck(
            name: "bag.origin", says: "Each placed order has a checkout, or another origin.",
            remedy: "Compare the order with its payment. Delete it if nobody paid it.",
            counts: .rows("orderOrigins"),
            finds: { tables in
                let orders = try tables.table("Order")
                return """
                    SELECT w.name AS name, w.found AS found FROM (
                    SELECT o.objectId AS name, 'It has neither a checkout nor an origin.' AS found FROM \(orders) o
                    WHERE coalesce(\(tables.number("orderStatus", "o")), 1) <> 0
                    AND NOT EXISTS (SELECT 1 FROM checkouts c WHERE c.orderId = o.objectId AND c.state = 'made')
                    AND NOT EXISTS (SELECT 1 FROM orderOrigins g WHERE g.orderId = o.objectId)
                    UNION ALL SELECT g.orderId, 'There is no such order. Its origin is ' || g.origin
                    FROM orderOrigins g LEFT JOIN \(orders) o ON o.objectId = g.orderId WHERE o.objectId IS NULL) AS w
                    """
            }),
        BookCheck(
            name: "bag.customer", says: "A customer's number of orders is that of their placed orders.",
            remedy: "Save one of the customer's orders with the master key, or correct the row of customers.",
            counts: .rows("customers"),
            finds: { tables in
                """
                SELECT c.customerId AS name, c.orders || ' counted, ' || coalesce(n.orders, 0) || ' exist' AS found
                FROM customers c LEFT JOIN (SELECT \(tables.text("customer.objectId", "o")) AS id, count(*) AS orders
                FROM \(try tables.table("Order")) o WHERE coalesce(\(tables.number("orderStatus", "o")), 1) <> 0
                AND coalesce(\(tables.text("orderState", "o")), '') <> 'cancelled'
                AND coalesce(\(tables.number("orderStatus", "o")), 1) <> -1
                GROUP BY \(tables.text("customer.objectId", "o"))) AS n ON n.id = c.customerId
                WHERE c.orders <> coalesce(n.orders, 0) AND NOT EXISTS (SELECT 1 FROM customerCount)
                """
            }),
    ]
}
