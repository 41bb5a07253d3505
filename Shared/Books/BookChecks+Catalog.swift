extension BookCheck {
    static let catalog: [BookCheck] = [
        BookCheck(
            name: "catalog.stock", says: "No stock is negative.",
            remedy: "Count the product and set its stock.",
            counts: .objects("Product"),
            finds: {
                """
                SELECT p.objectId AS name, 'Stock ' || \($0.number("stock", "p")) AS found
                FROM \(try $0.table("Product")) p WHERE \($0.number("stock", "p")) < 0
                """
            }),
        BookCheck(
            name: "catalog.stockSum", says: "A product's stock is the sum of its moves in the ledger.",
            remedy: "Count the product, remove its stock, and set it anew: the ledger then begins again.",
            counts: .rows("stockMoves"),
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
            counts: .rows("reservationLines"),
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
            counts: .rows("reservations WHERE state = 'reserved'"),
            finds: {
                """
                SELECT r.id AS name, 'It is still reserved.' AS found FROM reservations r
                WHERE r.state = 'reserved' AND r.expiresAt < \($0.before(BookTables.hour))
                """
            }),
        BookCheck(
            name: "catalog.held", says: "A released or expired reservation holds no goods.",
            remedy: "Add the pieces to the product's stock, and set the line's taken to 0.",
            counts: .rows("reservations WHERE state IN ('released', 'expired')"),
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
            counts: .rows("restockedPieces"),
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
            counts: .objects("Product"),
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
            counts: .objects("FavoriteProduct"),
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
            counts: .objects("FavoriteProduct"),
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
}
