import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The ledger of stock: a row for each change of a product's `stock`, with its reason. The sum of a product's rows is
/// its `stock`, or 0 without one (the check `catalog.stockSum`). Rows are only added, also for deleted products.
///
/// Reservations and restocks change `stock` here only. Writes by clients go through `ProductRules`, which calls
/// `follow`.
package enum StockLedger {
    package enum Reason: String, Sendable {
        /// The product's stock is counted from now on.
        case opening
        /// A client wrote another number.
        case adjusted
        /// A checkout took the pieces.
        case reserved
        /// A checkout that failed returned them.
        case released
        /// A reservation that expired returned them.
        case expired
        /// The order is paid. 0 pieces, unless the reservation had returned them before.
        case sold
        /// A cancelled or refunded order returned them.
        case returned
        /// The product's stock is no longer counted, or the product was deleted.
        case untracked
    }

    /// `madeBy` of a row that the master key caused; no objectId has a space.
    static let masterKey = "master key"

    /// `madeBy`: who wrote the stock directly. Empty for reservations, restocks and Satchel itself.
    static let tables = [
        """
        CREATE TABLE stockMoves(id INTEGER PRIMARY KEY, productId TEXT NOT NULL, pieces INTEGER NOT NULL,
        reason TEXT NOT NULL, reservationId TEXT NOT NULL, orderId TEXT NOT NULL, madeBy TEXT NOT NULL,
        at INTEGER NOT NULL)
        """,
        "CREATE INDEX stockMovesByProduct ON stockMoves(productId, id, pieces)",
        "CREATE INDEX stockMovesByMaker ON stockMoves(madeBy) WHERE madeBy <> ''",
        "ALTER TABLE reservations ADD COLUMN orderId TEXT NOT NULL DEFAULT ''",
    ]

    // MARK: Writing

    /// Changes the stock of a product that has one.
    /// - Parameter orderId: of a reservation that is not stored yet; nil for others.
    package static func change(
        _ productId: String, by pieces: Int64, _ reason: Reason, of reservationId: String, orderId: String? = nil,
        in transaction: StoreTransaction
    ) throws {
        if pieces != 0 {
            _ = try transaction.update(
                "Product", productId, ["stock": ["__op": "Increment", "amount": .int(pieces)]], caller: .master)
        }
        try add(productId, pieces, reason, of: reservationId, orderId: orderId, in: transaction)
    }

    /// Records the sale of the goods that a reservation took.
    static func sell(_ reservationId: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            """
            INSERT INTO stockMoves(productId, pieces, reason, reservationId, orderId, madeBy, at)
            SELECT l.productId, 0, '\(Reason.sold.rawValue)', r.id, r.orderId, '', r.changedAt
            FROM reservations r JOIN reservationLines l ON l.reservationId = r.id
            WHERE r.id = ? AND l.taken > 0 GROUP BY l.productId, r.id, r.orderId, r.changedAt
            """, [.text(reservationId)])
    }

    /// Records what a client's change of a product did to its stock.
    static func follow(_ outcome: ChangeOutcome, by principal: Principal, in transaction: StoreTransaction) throws {
        // The first attempt of a repeated create was recorded.
        guard !outcome.isRepeated else { return }
        let productId = outcome.objectId
        let maker = principal.master ? (principal.network.isEmpty ? "" : masterKey) : principal.userID
        switch (outcome.before?["stock"]?.intValue, outcome.after?["stock"]?.intValue) {
        case (nil, nil): return
        case (nil, let stock?): try add(productId, stock, .opening, by: maker, in: transaction)
        case (let old?, let stock?):
            guard old != stock else { return }
            try add(productId, stock &- old, .adjusted, by: maker, in: transaction)
        case (_?, nil):
            // Pieces that a running checkout holds do not return to a stock whose count starts again.
            for held in try heldPieces(of: productId, in: transaction) {
                try add(productId, held.taken, .released, of: held.reservationId, in: transaction)
                try forget(held, in: transaction)
            }
            let sum = try transaction.rows(
                "SELECT coalesce(sum(pieces), 0) AS pieces FROM stockMoves WHERE productId = ?", [.text(productId)]
            ).first?.int("pieces")
            try add(productId, 0 &- (sum ?? 0), .untracked, by: maker, in: transaction)
        }
    }

    private static func add(
        _ productId: String, _ pieces: Int64, _ reason: Reason, of reservationId: String = "", orderId: String? = nil,
        by maker: String = "", in transaction: StoreTransaction
    ) throws {
        try transaction.execute(
            """
            INSERT INTO stockMoves(productId, pieces, reason, reservationId, orderId, madeBy, at)
            VALUES (?, ?, ?, ?, coalesce(?, (SELECT orderId FROM reservations WHERE id = ?), ''), ?, ?)
            """,
            [
                .text(productId), .int(pieces), .text(reason.rawValue), .text(reservationId),
                orderId.map(SQLValue.text) ?? .null, .text(reservationId), .text(maker),
                .int(transaction.now.milliseconds),
            ])
    }

    private struct Held {
        let productId: String
        let reservationId: String
        let taken: Int64
    }

    /// The pieces that running checkouts hold.
    /// - Parameter productId: nil for all products.
    private static func heldPieces(of productId: String?, in transaction: StoreTransaction) throws -> [Held] {
        let rows = try transaction.rows(
            """
            SELECT l.productId AS productId, r.id AS reservationId, sum(l.taken) AS taken
            FROM reservations r JOIN reservationLines l ON l.reservationId = r.id
            WHERE r.state = '\(ReservationState.reserved.rawValue)' AND l.taken > 0 \
            \(productId == nil ? "" : "AND l.productId = ?") GROUP BY l.productId, r.id ORDER BY r.id
            """, productId.map { [SQLValue.text($0)] } ?? [])
        return try rows.map {
            try Held(productId: $0.text("productId"), reservationId: $0.text("reservationId"), taken: $0.int("taken"))
        }
    }

    private static func forget(_ held: Held, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "UPDATE reservationLines SET taken = 0 WHERE reservationId = ? AND productId = ?",
            [.text(held.reservationId), .text(held.productId)])
    }

    // MARK: The opening balance

    private static let pageSize = 500

    /// Begins the ledger of a database of an earlier release.
    package static func open(in transaction: StoreTransaction) throws {
        guard transaction.hasClass("Product") else { return }
        let held = Dictionary(grouping: try heldPieces(of: nil, in: transaction), by: \.productId)
        var condition: JSON = [:]
        while true {
            let query = Query(
                className: "Product", where: condition, order: ["objectId"], limit: pageSize, keys: ["stock"])
            let page = try transaction.documents(query, caller: .master)
            for product in page {
                guard let id = product["objectId"]?.stringValue else { continue }
                let lines = held[id] ?? []
                guard let stock = product["stock"]?.intValue else {
                    // Removed while a checkout held pieces: they do not return to a stock whose count starts again.
                    for line in lines { try forget(line, in: transaction) }
                    continue
                }
                try add(id, lines.reduce(stock) { $0 &+ $1.taken }, .opening, in: transaction)
                for line in lines {
                    try add(id, 0 &- line.taken, .reserved, of: line.reservationId, in: transaction)
                }
            }
            guard page.count == pageSize, let last = page.last?["objectId"] else { return }
            condition["objectId"] = ["$gt": last]
        }
    }

    /// Removes the name of a deleted account.
    static func forget(user userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "UPDATE stockMoves SET madeBy = '' WHERE madeBy = ? AND madeBy <> ''", [.text(userId)])
    }
}
