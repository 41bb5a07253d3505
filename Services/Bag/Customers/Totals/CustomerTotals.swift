import ObjectStore
import ParseProtocol
import ServiceKit

/// The totals of each customer: placed orders, money, and the newest order.
///
/// Each transaction that changes a placed order also changes the row of its customer (`orderChanged`). A backfill in
/// the background counts orders of earlier releases, in the order of their ids (`countNext`). A change of an order that
/// the backfill has not reached changes nothing here, because the backfill will read its later state.
package struct CustomerTotals: Sendable {
    static let tables = [
        """
        CREATE TABLE customers(customerId TEXT PRIMARY KEY, orders INTEGER NOT NULL, spent INTEGER NOT NULL,
        otherSpent TEXT NOT NULL, lastOrderAt INTEGER NOT NULL, profile TEXT NOT NULL, byName TEXT NOT NULL,
        byEmail TEXT NOT NULL) WITHOUT ROWID
        """,
        "CREATE INDEX customersByOrders ON customers(orders, customerId)",
        "CREATE INDEX customersBySpent ON customers(spent, customerId)",
        "CREATE INDEX customersByLastOrder ON customers(lastOrderAt, customerId)",
        "CREATE INDEX customersByName ON customers(byName, customerId)",
        "CREATE INDEX customersByEmail ON customers(byEmail, customerId)",
        """
        CREATE TABLE customerWords(word TEXT NOT NULL, customerId TEXT NOT NULL, PRIMARY KEY(word, customerId))
        WITHOUT ROWID
        """,
        "CREATE INDEX customerWordsByCustomer ON customerWords(customerId)",
        // The position of the backfill: the last counted order. Empty when the backfill is done.
        "CREATE TABLE customerCount(name TEXT PRIMARY KEY, countedTo TEXT NOT NULL) WITHOUT ROWID",
        "INSERT INTO customerCount(name, countedTo) VALUES ('orders', '')",
        CustomerLookups.table,
    ]

    /// Orders counted in one transaction: takes a few milliseconds, so that checkouts are not delayed.
    package static let countedAtOnce = 100

    /// The shop's currency.
    let currency: String

    package init(currency: String) { self.currency = currency }

    /// Updates the customer's row after a change of an order.
    /// - Parameters:
    ///   - before: the order before; nil when it was a bag or did not exist.
    ///   - after: the order as stored now; nil when it was deleted.
    package func orderChanged(from before: JSON?, to after: JSON?, in transaction: StoreTransaction) throws {
        let old = before.flatMap { OrderShare($0, shopCurrency: currency) }
        let new = after.flatMap { OrderShare($0, shopCurrency: currency) }
        guard old != new, let orderId = (new ?? old)?.orderId, try Self.isCounted(orderId, in: transaction) else {
            return
        }
        if let old, let new, old.customerId == new.customerId, old.placedAt == new.placedAt {
            return try add(new, insteadOf: old, in: transaction)
        }
        if let old { try remove(old, in: transaction) }
        if let new { try add(new, in: transaction) }
    }

    /// The next step of the backfill: counts orders that earlier releases placed.
    /// - Returns: whether more may remain.
    package func countNext(in transaction: StoreTransaction) throws -> Bool {
        guard let last = try Self.countedTo(in: transaction) else { return false }
        var page: [JSON] = []
        if transaction.hasClass("Order") {
            page = try transaction.documents(
                Query(
                    className: "Order", where: ["objectId": ["$gt": .string(last)]], order: ["objectId"],
                    limit: Self.countedAtOnce), caller: .master)
        }
        for order in page {
            if let share = OrderShare(order, shopCurrency: currency) { try add(share, in: transaction) }
        }
        guard page.count == Self.countedAtOnce, let next = page.last?["objectId"]?.stringValue else {
            try transaction.execute("DELETE FROM customerCount")
            return false
        }
        try transaction.execute("UPDATE customerCount SET countedTo = ?", [.text(next)])
        return true
    }

    /// Whether the backfill is not done yet.
    static func isCounting(in store: ObjectReader) throws -> Bool { try countedTo(in: store) != nil }

    private static func countedTo(in store: ObjectReader) throws -> String? {
        try store.rows("SELECT countedTo FROM customerCount").first?.text("countedTo")
    }

    private static func isCounted(_ orderId: String, in store: ObjectReader) throws -> Bool {
        guard let last = try countedTo(in: store) else { return true }
        return orderId <= last
    }

    // MARK: Rows

    private func add(
        _ share: OrderShare, insteadOf old: OrderShare? = nil, in transaction: StoreTransaction
    ) throws {
        var row = try CustomerRow.load(share.customerId, shopCurrency: currency, in: transaction)
        // An import may bring the orders of a deleted account.
        if !row.isStored, try DeletedUsers.contains(share.customerId, in: transaction) { return }
        row.orders = max(0, row.orders + share.orders - (old?.orders ?? 0))
        if let old { row.add(-old.minorUnits, old.currency) }
        row.add(share.minorUnits, share.currency)
        if share.placedAt >= row.lastOrderAt {
            row.lastOrderAt = share.placedAt
            var profile = share.profile
            if profile.email.isEmpty { profile.email = try Self.email(ofOrder: share.orderId, in: transaction) }
            row.profile.update(with: profile)
            if row.profile.email.isEmpty { try CustomerLookups.add(share.customerId, in: transaction) }
        }
        try row.store(in: transaction)
    }

    /// The customer's address when the order was placed; empty when it is unknown.
    static func email(ofOrder orderId: String, in store: ObjectReader) throws -> String {
        try store.rows("SELECT email FROM checkouts WHERE orderId = ? AND state = 'made'", [.text(orderId)]).first?
            .text("email") ?? ""
    }

    private func remove(_ share: OrderShare, in transaction: StoreTransaction) throws {
        var row = try CustomerRow.load(share.customerId, shopCurrency: currency, in: transaction)
        guard row.isStored else { return }
        row.orders = max(0, row.orders - share.orders)
        row.add(-share.minorUnits, share.currency)
        if share.placedAt >= row.lastOrderAt { row.lastOrderAt = try newest(of: share.customerId, in: transaction) }
        try row.store(in: transaction)
        try Self.removeIfUnused(share.customerId, in: transaction)
    }

    /// When the customer's order with the highest number was placed; 0 without orders.
    private func newest(of customerId: String, in store: ObjectReader) throws -> Int64 {
        let query = Query(
            className: "Order",
            where: [
                "customer": .pointer("_User", customerId), "orderStatus": ["$ne": .int(OrderStatus.open.wireStatus)],
            ], order: ["-orderNo"], limit: 1)
        return try store.documents(query, caller: .master).first
            .flatMap { OrderShare($0, shopCurrency: currency)?.placedAt } ?? 0
    }

    /// Creates the row of a customer without orders.
    func require(_ customerId: String, _ profile: CustomerProfile, in transaction: StoreTransaction) throws {
        var row = try CustomerRow.load(customerId, shopCurrency: currency, in: transaction)
        guard !row.isStored else { return }
        row.profile = profile
        try row.store(in: transaction)
    }

    static func exists(_ customerId: String, in store: ObjectReader) throws -> Bool {
        try !store.rows("SELECT 1 FROM customers WHERE customerId = ?", [.text(customerId)]).isEmpty
    }

    /// Removes the row of a customer who has no orders, tags and notes.
    static func removeIfUnused(_ customerId: String, in transaction: StoreTransaction) throws {
        let used = try transaction.rows(
            "SELECT 1 FROM customers WHERE customerId = ? AND lastOrderAt > 0", [.text(customerId)])
        guard try used.isEmpty && !CustomerMarks.exist(of: customerId, in: transaction) else { return }
        try forget(customerId, in: transaction)
    }

    /// Moves tags and notes to the account that an anonymous user signed in to.
    func moveMarks(from: String, to: String, in transaction: StoreTransaction) throws {
        if try CustomerMarks.exist(of: from, in: transaction) {
            let row = try CustomerRow.load(from, shopCurrency: currency, in: transaction)
            try require(to, row.profile, in: transaction)
            try CustomerMarks.move(from: from, to: to, in: transaction)
        }
        try Self.removeIfUnused(from, in: transaction)
    }

    /// Removes everything about a customer whose account was deleted or merged into another one.
    static func forget(_ customerId: String, in transaction: StoreTransaction) throws {
        for table in ["customers", "customerWords", "customerTags", "customerNotes", "customerLookups"] {
            try transaction.execute("DELETE FROM \(table) WHERE customerId = ?", [.text(customerId)])
        }
    }
}
