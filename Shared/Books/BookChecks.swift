extension BookCheck {
    /// The services with books.
    package static let services = ["analytics", "bag", "catalog", "crash", "mail", "payments", "push", "users"]

    /// The checks of single databases.
    package static let all = bag + payments + analytics + catalog + mail + services.flatMap(messages)

    // MARK: Every service

    /// A message is tried once a minute; an hour of that means that its receiver is away.
    private static let attemptsMax = 68

    private static func messages(of service: String) -> [BookCheck] {
        [
            BookCheck(
                name: "\(service).outbox", says: "Each message to another service is delivered within an hour.",
                remedy: "scripts/status and scripts/logs say what the receiver lacks; it gets the message later.",
                counts: { _ in "SELECT count(*) AS rows FROM outbox" },
                finds: {
                    """
                    SELECT m.key AS name, m.kind || ', ' || m.attempts || ' attempts. ' || coalesce(m.lastProblem, '')
                    AS found FROM outbox m WHERE m.attempts > \(attemptsMax) OR m.dueAt < \($0.before(BookTables.hour))
                    """
                }),
            BookCheck(
                name: "\(service).parked", says: "No message is parked.",
                remedy: "Remove the cause; then scripts/restart \(service) sends the message again.",
                counts: { _ in "SELECT count(*) AS rows FROM parkedMessages" },
                finds: { _ in "SELECT p.key AS name, p.kind || '. ' || p.problem AS found FROM parkedMessages p" }),
        ]
    }

    // MARK: Bag

    /// The longest time that `SATCHEL_PAYMENT_UNDECIDED_SECONDS` allows, and an hour.
    private static let checkoutAge = 25 * BookTables.hour

    private static let bag: [BookCheck] = [
        BookCheck(
            name: "bag.number", says: "An order number belongs to one order.",
            remedy: "Give one of the orders another orderNo with the master key, and tell its customer.",
            counts: { "SELECT count(*) AS rows FROM \(try $0.table("Order"))" },
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
            counts: { _ in "SELECT count(*) AS rows FROM counters" },
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
            counts: { _ in "SELECT count(*) AS rows FROM checkouts WHERE state = 'made'" },
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
            counts: { _ in "SELECT count(*) AS rows FROM checkouts WHERE state = 'made'" },
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
            counts: { "SELECT count(*) AS rows FROM \(try $0.table("Order"))" },
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
            counts: { _ in
                "SELECT count(*) AS rows FROM checkouts WHERE state IN ('started', 'reserved', 'charged')"
            },
            finds: {
                """
                SELECT c.id AS name, 'Order ' || c.orderId || ' is ' || c.state AS found FROM checkouts c
                WHERE c.state IN ('started', 'reserved', 'charged') AND c.createdAt < \($0.before(checkoutAge))
                """
            }),
        BookCheck(
            name: "bag.refundAge", says: "A refund is decided within a day.",
            remedy: "The order's page shows why payments has not decided it; the provider's page shows its state.",
            counts: { _ in "SELECT count(*) AS rows FROM refunds WHERE state = 'pending'" },
            finds: {
                """
                SELECT r.id AS name, 'Order ' || r.orderId || ', ' || r.amount AS found FROM refunds r
                WHERE r.state = 'pending' AND r.createdAt < \($0.before(BookTables.day))
                """
            }),
        BookCheck(
            name: "bag.entry", says: "Each placed order has its entry in the lists of the order desk.",
            remedy: "Save the order with the master key: that writes its entry.",
            counts: { _ in "SELECT count(*) AS rows FROM orderEntries" },
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
            counts: { _ in "SELECT count(*) AS rows FROM orderOrigins" },
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
            counts: { _ in "SELECT count(*) AS rows FROM customers" },
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

    // MARK: Payments

    private static let payments: [BookCheck] = [
        BookCheck(
            name: "payments.overRefunded", says: "The refunds of a charge do not exceed it.",
            remedy: "Compare with the provider's page of the charge.",
            counts: { _ in "SELECT count(*) AS rows FROM charges WHERE state = 'succeeded'" },
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
            counts: { _ in "SELECT count(*) AS rows FROM sandboxCharges" },
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
            counts: { _ in "SELECT count(*) AS rows FROM sandboxCharges WHERE failure IS NULL" },
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
            counts: { _ in "SELECT count(*) AS rows FROM sandboxRefunds" },
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
            counts: { _ in "SELECT count(*) AS rows FROM charges WHERE state = 'created'" },
            finds: {
                """
                SELECT c.operationId AS name, c.amount || ' ' || c.currency || ', order ' || c.orderId AS found
                FROM charges c WHERE c.state = 'created' AND c.createdAt < \($0.before(checkoutAge))
                """
            }),
        BookCheck(
            name: "payments.refundAge", says: "The provider decides a refund within a day.",
            remedy: "Look up the charge at the provider; the page of payments shows the last error.",
            counts: { _ in "SELECT count(*) AS rows FROM refunds WHERE state = 'created'" },
            finds: {
                """
                SELECT r.operationId AS name, r.requested || ' of ' || r.chargeOperationId AS found
                FROM refunds r WHERE r.state = 'created' AND r.createdAt < \($0.before(BookTables.day))
                """
            }),
    ]

    // MARK: Analytics

    /// Analytics removes older sums, but no sales (`Retention`).
    private static let sumsKept = 5 * 365 * BookTables.day

    private static let analytics: [BookCheck] = [
        BookCheck(
            name: "analytics.sums", says: "The sums by hour are those of the sales and refunds.",
            remedy: CrossCheck.rebuild,
            counts: { _ in "SELECT count(*) AS rows FROM salesHours" },
            finds: {
                """
                SELECT s.currency AS name, 'Too much in the sums: ' || s.orders || ' orders, ' || s.gross ||
                ' sold, ' || s.refunded || ' refunded' AS found
                FROM (SELECT h.currency AS currency, sum(h.orders) AS orders, sum(h.gross) AS gross,
                sum(h.refunded) AS refunded FROM (
                SELECT currency, orders, grossMinorUnits AS gross, refundedMinorUnits AS refunded FROM salesHours
                UNION ALL SELECT currency, -1, -totalMinorUnits, 0 FROM sales
                UNION ALL SELECT currency, 0, 0, -minorUnits FROM refunds) AS h GROUP BY h.currency) AS s
                WHERE (s.orders <> 0 OR s.gross <> 0 OR s.refunded <> 0)
                AND NOT EXISTS (SELECT 1 FROM sales WHERE madeAt < \($0.before(sumsKept)))
                """
            })
    ]

    // MARK: Catalog

    private static let catalog: [BookCheck] = [
        BookCheck(
            name: "catalog.stock", says: "No stock is negative.",
            remedy: "Count the product and set its stock.",
            counts: { "SELECT count(*) AS rows FROM \(try $0.table("Product"))" },
            finds: {
                """
                SELECT p.objectId AS name, 'Stock ' || \($0.number("stock", "p")) AS found
                FROM \(try $0.table("Product")) p WHERE \($0.number("stock", "p")) < 0
                """
            }),
        BookCheck(
            name: "catalog.stockSum", says: "A product's stock is the sum of its moves in the ledger.",
            remedy: "Count the product, remove its stock, and set it anew: the ledger then begins again.",
            counts: { _ in "SELECT count(*) AS rows FROM stockMoves" },
            finds: {
                """
                SELECT k.id AS name, 'Stock ' || k.stock || ', ledger ' || k.moved AS found
                FROM (SELECT n.id AS id, sum(n.stock) AS stock, sum(n.moved) AS moved FROM (
                SELECT p.objectId AS id, coalesce(\($0.number("stock", "p")), 0) AS stock, 0 AS moved
                FROM \(try $0.table("Product")) p
                UNION ALL SELECT productId, 0, pieces FROM stockMoves) AS n GROUP BY n.id) AS k
                WHERE k.stock <> k.moved
                """
            }),
        BookCheck(
            name: "catalog.sold", says: "A reservation moves what it took, and a sale is noted once.",
            remedy: "Compare the product's moves with its order, and count the product.",
            counts: { _ in "SELECT count(*) AS rows FROM reservationLines" },
            // Reservations that were decided before their product's ledger began have no moves.
            finds: { _ in
                """
                SELECT t.id AS name, t.taken || ' x ' || t.product || ' taken, ' || coalesce(-m.moved, 0) ||
                ' moved, sold ' || coalesce(m.sales, 0) || ' times' AS found
                FROM (SELECT r.id AS id, l.productId AS product, sum(l.taken) AS taken, r.state AS state,
                r.changedAt AS at FROM reservations r JOIN reservationLines l ON l.reservationId = r.id
                GROUP BY r.id, l.productId, r.state, r.changedAt) AS t
                JOIN (SELECT productId AS product, min(at) AS at FROM stockMoves WHERE reason = 'opening'
                GROUP BY productId) AS o ON o.product = t.product
                LEFT JOIN (SELECT reservationId AS id, productId AS product, sum(pieces) AS moved,
                sum(CASE WHEN reason = 'sold' THEN 1 ELSE 0 END) AS sales FROM stockMoves
                WHERE reservationId <> '' AND reason <> 'returned' GROUP BY reservationId, productId) AS m
                ON m.id = t.id AND m.product = t.product
                WHERE t.at > o.at AND (t.taken <> coalesce(-m.moved, 0)
                OR (t.state = 'committed' AND t.taken > 0 AND coalesce(m.sales, 0) <> 1))
                """
            }),
        BookCheck(
            name: "catalog.reservationAge", says: "An expired reservation returns its goods within an hour.",
            remedy: "scripts/logs catalog says why it does not; scripts/restart catalog tries again.",
            counts: { _ in "SELECT count(*) AS rows FROM reservations WHERE state = 'reserved'" },
            finds: {
                """
                SELECT r.id AS name, 'It is still reserved.' AS found FROM reservations r
                WHERE r.state = 'reserved' AND r.expiresAt < \($0.before(BookTables.hour))
                """
            }),
        BookCheck(
            name: "catalog.held", says: "A released or expired reservation holds no goods.",
            remedy: "Add the pieces to the product's stock, and set the line's taken to 0.",
            counts: { _ in "SELECT count(*) AS rows FROM reservations WHERE state IN ('released', 'expired')" },
            finds: { _ in
                """
                SELECT r.id AS name, l.taken || ' x ' || l.productId || ', ' || r.state AS found FROM reservations r
                JOIN reservationLines l ON l.reservationId = r.id
                WHERE r.state IN ('released', 'expired') AND l.taken <> 0
                """
            }),
        BookCheck(
            name: "catalog.returned", says: "No more pieces return than a sale took.",
            remedy: "Count the product and set its stock.",
            counts: { _ in "SELECT count(*) AS rows FROM restockedPieces" },
            finds: { _ in
                """
                SELECT b.reservationId AS name, b.pieces || ' of ' || t.taken || ' x ' || b.productId AS found
                FROM restockedPieces b JOIN (SELECT reservationId AS id, productId AS product, sum(taken) AS taken
                FROM reservationLines GROUP BY reservationId, productId) AS t
                ON t.id = b.reservationId AND t.product = b.productId WHERE b.pieces > t.taken
                """
            }),
        BookCheck(
            name: "catalog.rating", says: "A product's rating is that of its visible reviews.",
            remedy: "Run the job recountRatings.",
            counts: { "SELECT count(*) AS rows FROM \(try $0.table("Product"))" },
            finds: { tables in
                let shown = "coalesce(\(tables.number("ratingCount", "p")), 0)"
                let product = tables.text("product.objectId", "r")
                return """
                    SELECT p.objectId AS name, \(shown) || ' shown, ' || coalesce(k.count, 0) || ' counted, ' ||
                    coalesce(n.count, 0) || ' exist' AS found
                    FROM \(try tables.table("Product")) p LEFT JOIN productRatings k ON k.productId = p.objectId
                    LEFT JOIN (SELECT \(product) AS id, count(*) AS count, sum(\(tables.number("rating", "r"))) AS total
                    FROM \(try tables.table("ProductReview")) r WHERE \(tables.number("rating", "r")) IS NOT NULL
                    AND coalesce(\(tables.text("moderation", "r")), 'visible') = 'visible' GROUP BY \(product)) AS n
                    ON n.id = p.objectId
                    WHERE coalesce(k.count, 0) <> coalesce(n.count, 0) OR coalesce(k.total, 0) <> coalesce(n.total, 0)
                    OR \(shown) <> coalesce(n.count, 0)
                    OR abs(coalesce(\(tables.number("ratingAverage", "p")), 0) * coalesce(n.count, 0)
                    - coalesce(n.total, 0)) > 0.006 * coalesce(n.count, 0)
                    """
            }),
        BookCheck(
            name: "catalog.favorite", says: "A customer has a product once among the favourites.",
            remedy: "Delete one of the favourites.",
            counts: { "SELECT count(*) AS rows FROM \(try $0.table("FavoriteProduct"))" },
            finds: { tables in
                let (customer, product) = (tables.text("customer.objectId", "f"), tables.text("product.objectId", "f"))
                return """
                    SELECT max(f.objectId) AS name, 'Customer ' || \(customer) || ', product ' || \(product) AS found
                    FROM \(try tables.table("FavoriteProduct")) f GROUP BY \(customer), \(product) HAVING count(*) > 1
                    """
            }),
        BookCheck(
            name: "catalog.favoriteProduct", says: "A favourite's product exists.",
            remedy: "Delete the favourite.",
            counts: { "SELECT count(*) AS rows FROM \(try $0.table("FavoriteProduct"))" },
            finds: { tables in
                let product = tables.text("product.objectId", "f")
                return """
                    SELECT f.objectId AS name, 'Product ' || \(product) AS found
                    FROM \(try tables.table("FavoriteProduct")) f LEFT JOIN \(try tables.table("Product")) p
                    ON p.objectId = \(product) WHERE p.objectId IS NULL AND \(product) IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM removedProducts d WHERE d.productId = \(product))
                    """
            }),
    ]

    // MARK: Mail

    /// The longest time of `SATCHEL_MAIL_GIVE_UP_HOURS`, and a day.
    private static let mailAge = 31 * BookTables.day

    private static let mail: [BookCheck] = [
        BookCheck(
            name: "mail.age", says: "A mail is sent or given up in time.",
            remedy: "scripts/logs mail says what the mail server answers.",
            counts: { _ in "SELECT count(*) AS rows FROM mails WHERE state = 'queued'" },
            finds: {
                """
                SELECT CAST(m.id AS TEXT) AS name, m.template || ', ' || m.attempts || ' attempts. ' ||
                coalesce(m.problem, '') AS found FROM mails m
                WHERE m.state = 'queued' AND m.queuedAt < \($0.before(mailAge))
                """
            }),
        BookCheck(
            name: "mail.confirmation", says: "An order is confirmed by one mail.",
            remedy: "The customer got two mails; nothing is to do unless it happens again.",
            counts: { _ in "SELECT count(*) AS rows FROM mails WHERE template = 'order-confirmation'" },
            finds: { _ in
                """
                SELECT CAST(m.orderNo AS TEXT) AS name, count(*) || ' mails' AS found FROM mails m
                WHERE m.orderNo IS NOT NULL AND m.template = 'order-confirmation'
                AND m.key LIKE 'outbox:checkout:%:mail' GROUP BY m.orderNo HAVING count(*) > 1
                """
            }),
    ]
}
