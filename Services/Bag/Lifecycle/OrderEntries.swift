import ObjectStore
import ParseProtocol

/// The entries of placed orders, which `OrderList` reads.
///
/// Each transaction that changes a placed order also changes its entry (`orderChanged`). A backfill in the background
/// adds the entries of orders of earlier releases, in the order of their ids (`addNext`). A change of an order that the
/// backfill has not reached changes nothing here, because the backfill will read its later state.
package enum OrderEntries {
    static let tables = [
        """
        CREATE TABLE orderEntries(orderId TEXT PRIMARY KEY, orderNo INTEGER NOT NULL, orderedAt INTEGER NOT NULL,
        total INTEGER NOT NULL, byName TEXT NOT NULL, state TEXT NOT NULL, code TEXT NOT NULL) WITHOUT ROWID
        """,
        "CREATE INDEX orderEntriesByNumber ON orderEntries(orderNo, orderId)",
        "CREATE INDEX orderEntriesByDate ON orderEntries(orderedAt, orderId)",
        "CREATE INDEX orderEntriesByTotal ON orderEntries(total, orderId)",
        "CREATE INDEX orderEntriesByName ON orderEntries(byName, orderId)",
        "CREATE INDEX orderEntriesByState ON orderEntries(state, orderNo, orderId)",
        """
        CREATE TABLE orderWords(word TEXT NOT NULL, orderId TEXT NOT NULL, PRIMARY KEY(word, orderId)) WITHOUT ROWID
        """,
        "CREATE INDEX orderWordsByOrder ON orderWords(orderId)",
        // The position of the backfill: the last order with an entry. Empty when the backfill is done.
        "CREATE TABLE orderEntriesAdded(name TEXT PRIMARY KEY, addedTo TEXT NOT NULL) WITHOUT ROWID",
        "INSERT INTO orderEntriesAdded(name, addedTo) VALUES ('orders', '')",
    ]

    /// Orders that get entries in one transaction: takes a few milliseconds, so that checkouts are not delayed.
    package static let addedAtOnce = 100

    /// Updates the order's entry after a change of the order.
    /// - Parameters:
    ///   - before: the order before; nil when it was a bag or did not exist.
    ///   - after: the order as stored now; nil when it was deleted.
    static func orderChanged(from before: JSON?, to after: JSON?, in transaction: StoreTransaction) throws {
        let (old, new) = (before.flatMap(OrderEntry.init), after.flatMap(OrderEntry.init))
        guard old != new, let orderId = (new ?? old)?.orderId, try isAdded(orderId, in: transaction) else { return }
        guard let new else {
            try transaction.execute("DELETE FROM orderEntries WHERE orderId = ?", [.text(orderId)])
            try transaction.execute("DELETE FROM orderWords WHERE orderId = ?", [.text(orderId)])
            return
        }
        try store(new, insteadOf: old, in: transaction)
    }

    /// The next step of the backfill: adds entries of orders that earlier releases placed.
    /// - Returns: whether more may remain.
    package static func addNext(in transaction: StoreTransaction) throws -> Bool {
        guard let last = try addedTo(in: transaction) else { return false }
        var page: [JSON] = []
        if transaction.hasClass("Order") {
            page = try transaction.documents(
                Query(
                    className: "Order", where: ["objectId": ["$gt": .string(last)]], order: ["objectId"],
                    limit: addedAtOnce), caller: .master)
        }
        for order in page {
            if let entry = OrderEntry(order) { try store(entry, insteadOf: nil, in: transaction) }
        }
        guard page.count == addedAtOnce, let next = page.last?["objectId"]?.stringValue else {
            try transaction.execute("DELETE FROM orderEntriesAdded")
            return false
        }
        try transaction.execute("UPDATE orderEntriesAdded SET addedTo = ?", [.text(next)])
        return true
    }

    /// Whether the backfill is not done yet.
    static func areIncomplete(in store: ObjectReader) throws -> Bool { try addedTo(in: store) != nil }

    private static func addedTo(in store: ObjectReader) throws -> String? {
        try store.rows("SELECT addedTo FROM orderEntriesAdded").first?.text("addedTo")
    }

    private static func isAdded(_ orderId: String, in store: ObjectReader) throws -> Bool {
        guard let last = try addedTo(in: store) else { return true }
        return orderId <= last
    }

    private static func store(
        _ entry: OrderEntry, insteadOf old: OrderEntry?, in transaction: StoreTransaction
    ) throws {
        try transaction.execute(
            """
            INSERT INTO orderEntries(orderId, orderNo, orderedAt, total, byName, state, code)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT(orderId) DO UPDATE SET orderNo = excluded.orderNo, orderedAt = excluded.orderedAt,
            total = excluded.total, byName = excluded.byName, state = excluded.state, code = excluded.code
            """,
            [
                .text(entry.orderId), .int(entry.orderNo), .int(entry.orderedAt), .int(entry.total),
                .text(entry.byName), .text(entry.state), .text(entry.code),
            ])
        guard entry.words != old?.words || entry.lacksEmail != old?.lacksEmail else { return }
        var words = entry.words
        if entry.lacksEmail {
            let email = try CustomerTotals.email(ofOrder: entry.orderId, in: transaction)
            words.formUnion(CustomerProfile.words(of: email))
        }
        try transaction.execute("DELETE FROM orderWords WHERE orderId = ?", [.text(entry.orderId)])
        for word in words.sorted() {
            try transaction.execute(
                "INSERT INTO orderWords(word, orderId) VALUES (?, ?)", [.text(word), .text(entry.orderId)])
        }
    }
}
