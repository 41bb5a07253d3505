import ObjectStore
import ParseProtocol

/// Customers whose newest order has no e-mail address, as many imported orders. Background work asks `users` for the
/// address of the account.
package enum CustomerLookups {
    static let table = "CREATE TABLE customerLookups(customerId TEXT PRIMARY KEY) WITHOUT ROWID"

    /// Customers looked up at once.
    package static let pageRows = 100

    static func add(_ customerId: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "INSERT INTO customerLookups(customerId) VALUES (?) ON CONFLICT DO NOTHING", [.text(customerId)])
    }

    package static func next(in store: some ObjectReading) throws -> [String] {
        try store.rows(
            "SELECT customerId FROM customerLookups ORDER BY customerId LIMIT ?", [.int(Int64(pageRows))]
        ).map { try $0.text("customerId") }
    }

    static func remove(_ customerId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM customerLookups WHERE customerId = ?", [.text(customerId)])
    }
}

extension CustomerTotals {
    /// Adds what the orders of customers lack. Ends their look-ups.
    /// - Parameter contacts: the accounts that exist, by customer.
    package func complete(
        _ customerIds: [String], from contacts: [String: JSON], in transaction: StoreTransaction
    ) throws {
        for customerId in customerIds {
            try CustomerLookups.remove(customerId, in: transaction)
            guard let contact = contacts[customerId] else { continue }
            var row = try CustomerRow.load(customerId, shopCurrency: currency, in: transaction)
            guard row.isStored else { continue }
            row.profile.complete(with: CustomerProfile(person: contact))
            try row.store(in: transaction)
        }
    }
}
