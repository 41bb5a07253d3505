extension BookList {
    /// Every checkout, by its id, which is also the id of its charge and of its reservation.
    static let checkouts = BookList(
        "bag", "checkouts",
        [
            "state", "amount", "currency", "charge", "number", "at", "mailed", "refunded", "pending", "waits",
            "mailwaits",
        ],
        """
        SELECT c.id AS key, c.state AS state, coalesce(c.amount, 0) AS amount, coalesce(c.currency, '') AS currency,
        coalesce(c.chargeId, '') AS charge, coalesce(c.orderNo, 0) AS number, c.updatedAt AS at,
        CASE WHEN c.email <> '' THEN 1 ELSE 0 END AS mailed,
        (SELECT coalesce(sum(r.amount), 0) FROM refunds r WHERE r.orderId = c.orderId AND r.state = 'done') AS refunded,
        (SELECT count(*) FROM refunds r WHERE r.orderId = c.orderId AND r.state = 'pending') AS pending,
        (SELECT count(*) FROM outbox m WHERE m.key IN ('outbox:checkout:' || c.id || ':commit',
        'outbox:checkout:' || c.id || ':release', 'outbox:checkout:' || c.id || ':undo')) AS waits,
        (SELECT count(*) FROM outbox m WHERE m.key = 'outbox:checkout:' || c.id || ':mail') AS mailwaits
        FROM checkouts c WHERE c.id > ? ORDER BY c.id LIMIT ?
        """)

    /// Charges by the id of their operation, which is no checkout's for charges of cloud code. `ledger`: the amount of
    /// the charge in the sandbox, less its refunds there. `stripe`: when a charge at Stripe began.
    static let charges = BookList(
        "payments", "charges", ["state", "amount", "currency", "charge", "refunded", "pending", "ledger", "stripe"],
        """
        SELECT c.operationId AS key, c.state AS state, c.amount AS amount, c.currency AS currency,
        coalesce(c.chargeId, '') AS charge,
        (SELECT coalesce(sum(r.amount), 0) FROM refunds r WHERE r.chargeOperationId = c.operationId
        AND r.state = 'succeeded') AS refunded,
        (SELECT count(*) FROM refunds r WHERE r.chargeOperationId = c.operationId AND r.state = 'created') AS pending,
        (SELECT s.amount - (SELECT coalesce(sum(b.amount), 0) FROM sandboxRefunds b WHERE b.chargeId = s.chargeId)
        FROM sandboxCharges s WHERE s.key = c.operationId AND s.failure IS NULL) AS ledger,
        CASE WHEN EXISTS (SELECT 1 FROM stripeOperations p WHERE p.key = c.operationId) THEN c.createdAt END AS stripe
        FROM charges c WHERE c.operationId > ? ORDER BY c.operationId LIMIT ?
        """)

    /// Reservations by their checkout's id. Decided ones are removed after 90 days.
    static let reservations = BookList(
        "catalog", "reservations", ["state"],
        "SELECT r.id AS key, r.state AS state FROM reservations r WHERE r.id > ? ORDER BY r.id LIMIT ?")

    /// Order confirmations to customers by their checkout's id. All ids have the same length, so the keys of mails sort
    /// as the ids do.
    static let confirmations = BookList(
        "mail", "confirmations", [],
        """
        SELECT substr(m.key, 17, length(m.key) - 21) AS key FROM mails m
        WHERE m.key > 'outbox:checkout:' || CAST(? AS TEXT) || ':~' AND m.key < 'outbox:checkout;'
        AND m.key LIKE '%:mail' ORDER BY m.key LIMIT ?
        """)

    /// Orders that a checkout paid, by the order's id. `paid`: the number of such checkouts.
    static let paidOrders = BookList(
        "bag", "paidOrders", ["paid", "number", "amount", "currency", "at", "refunded", "waits"],
        """
        SELECT c.orderId AS key, coalesce(c.orderNo, 0) AS number, coalesce(c.amount, 0) AS amount,
        (SELECT count(*) FROM checkouts d WHERE d.orderId = c.orderId AND d.state = 'made') AS paid,
        coalesce(c.currency, '') AS currency, c.updatedAt AS at,
        (SELECT coalesce(sum(r.amount), 0) FROM refunds r WHERE r.orderId = c.orderId AND r.state = 'done') AS refunded,
        (SELECT count(*) FROM outbox m WHERE m.key = 'outbox:checkout:' || c.id || ':analytics'
        OR (m.key > 'outbox:order:' || c.orderId || ':' AND m.key < 'outbox:order:' || c.orderId || ';')) AS waits
        FROM checkouts c WHERE c.state = 'made' AND c.orderId > ? AND NOT EXISTS (SELECT 1 FROM checkouts d
        WHERE d.orderId = c.orderId AND d.state = 'made' AND d.id < c.id) ORDER BY c.orderId LIMIT ?
        """)

    /// Sales by the order's id.
    static let sales = BookList(
        "analytics", "sales", ["number", "amount", "currency", "refunded"],
        """
        SELECT s.orderId AS key, s.orderNumber AS number, s.totalMinorUnits AS amount, s.currency AS currency,
        (SELECT coalesce(sum(r.minorUnits), 0) FROM refunds r WHERE r.orderId = s.orderId) AS refunded
        FROM sales s WHERE s.orderId > ? ORDER BY s.orderId LIMIT ?
        """)

    /// The names of files whose content the disk should have.
    static let fileRows = BookList(
        "catalog", "fileRows", [],
        "SELECT f.name AS key FROM files f WHERE f.inBucket = 0 AND f.name > ? ORDER BY f.name LIMIT ?")

    /// The names of files on the disk: no SQL, see `ServiceBooks`.
    static let filesOnDisk = BookList("catalog", "filesOnDisk", [], "")

    /// All files by name, and objects that are to be deleted. `file`: 1 when the bucket should have the content.
    static let bucketRows = BookList(
        "catalog", "bucketRows", ["file"],
        """
        SELECT x.key AS key, x.file AS file FROM (
        SELECT a.key AS key, a.file AS file FROM (SELECT f.name AS key, f.inBucket AS file FROM files f
        WHERE f.name > ?1 ORDER BY f.name LIMIT ?2) AS a UNION ALL
        SELECT b.key AS key, b.file AS file FROM (SELECT d.name AS key, 0 AS file FROM bucketDrops d
        WHERE d.name > ?1 AND NOT EXISTS (SELECT 1 FROM files f WHERE f.name = d.name) ORDER BY d.name LIMIT ?2) AS b
        ) AS x ORDER BY x.key LIMIT ?2
        """)

    /// The names of the files' objects in the bucket: no SQL, the running catalog lists them.
    package static let objectsInBucket = BookList(
        "catalog", "objectsInBucket", [], "", part: "the bucket of files")

    package static let all = [
        checkouts, charges, reservations, confirmations, paidOrders, sales, fileRows, filesOnDisk, bucketRows,
        objectsInBucket,
    ]
}
