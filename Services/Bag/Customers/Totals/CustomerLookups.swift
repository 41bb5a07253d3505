import ObjectStore
import ParseProtocol

/// Customers whose accounts background work reads from `users`: customers whose newest order has no e-mail address
/// (common for imported orders), and customers whose account has changed.
package enum CustomerLookups {
    static let table = "CREATE TABLE customerLookups(customerId TEXT PRIMARY KEY) WITHOUT ROWID"
    /// How often the account has changed since the look-up was added.
    static let changes = ["ALTER TABLE customerLookups ADD COLUMN changes INTEGER NOT NULL DEFAULT 0"]

    /// Customers looked up at once.
    package static let pageRows = 100

    /// - Parameter isChanged: whether the account has changed: then its name, address and phone number replace those
    ///   of the newest order. Otherwise they add what the order lacks.
    static func add(_ customerId: String, isChanged: Bool = false, in transaction: StoreTransaction) throws {
        try transaction.execute(
            """
            INSERT INTO customerLookups(customerId, changes) VALUES (?, ?)
            ON CONFLICT(customerId) DO UPDATE SET changes = customerLookups.changes + excluded.changes
            """, [.text(customerId), .int(isChanged ? 1 : 0)])
    }

    /// The next customers, with the number of changes.
    package static func next(in store: ObjectReader) throws -> [String: Int64] {
        let rows = try store.rows(
            "SELECT customerId, changes FROM customerLookups ORDER BY customerId LIMIT ?", [.int(Int64(pageRows))])
        return try rows.reduce(into: [:]) { $0[try $1.text("customerId")] = try $1.int("changes") }
    }

    /// Ends a look-up, unless the account has changed again.
    static func remove(_ customerId: String, changes: Int64, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "DELETE FROM customerLookups WHERE customerId = ? AND changes = ?", [.text(customerId), .int(changes)])
    }
}

extension CustomerTotals {
    /// Queues a look-up when the changed account belongs to a known customer.
    package static func accountChanged(_ customerId: String, in transaction: StoreTransaction) throws {
        guard try exists(customerId, in: transaction) else { return }
        try CustomerLookups.add(customerId, isChanged: true, in: transaction)
    }

    /// Copies name, e-mail and phone of the accounts into the customers' rows and removes the look-ups.
    /// - Parameter contacts: the accounts that exist, by customer.
    package func complete(
        _ lookups: [String: Int64], from contacts: [String: JSON], in transaction: StoreTransaction
    ) throws {
        for (customerId, changes) in lookups {
            try CustomerLookups.remove(customerId, changes: changes, in: transaction)
            guard let contact = contacts[customerId] else { continue }
            var row = try CustomerRow.load(customerId, shopCurrency: currency, in: transaction)
            guard row.isStored else { continue }
            let account = CustomerProfile(person: contact)
            if changes > 0 { row.profile.update(with: account) } else { row.profile.complete(with: account) }
            try row.store(in: transaction)
        }
    }
}
