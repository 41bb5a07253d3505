import Logging
import ObjectStore
import ParseProtocol
import ServiceKit

/// Pending deletions of customers at the provider. Deleting a payment method here stores the deletion in the same
/// transaction; it is carried out afterwards, with retries.
package enum CustomerDeletions {
    static let pause = Duration.seconds(5)
    private static let batchMax: Int64 = 50

    static func add(_ customerId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "INSERT INTO forgottenCustomers(customerId, since) VALUES (?, ?) ON CONFLICT(customerId) DO NOTHING",
            [.text(customerId), .int(transaction.now.milliseconds)])
    }

    /// Runs one round. A customer that the provider does not delete moves to the end of the queue.
    package static func removeDue(_ store: ClassStore, _ provider: any PaymentProvider, _ logger: Logger) async throws {
        let due = try await store.read(for: nil) {
            // Customers with an undecided charge are kept until it is decided.
            try $0.rows(
                """
                SELECT customerId FROM forgottenCustomers WHERE NOT EXISTS(
                    SELECT 1 FROM charges WHERE state = 'created' AND source = 'customer:' || customerId)
                ORDER BY since LIMIT ?
                """, [.int(batchMax)])
        }
        for customer in try due.map({ try $0.text("customerId") }) where !Task.isCancelled {
            do {
                try await provider.deleteCustomer(customer, for: nil)
            } catch {
                logger.warning(
                    "A customer could not be deleted at the provider; the deletion will be retried.",
                    metadata: ["error": "\(error)"])
                _ = try await store.write(for: nil) {
                    try $0.execute(
                        "UPDATE forgottenCustomers SET since = ? WHERE customerId = ?",
                        [.int($0.now.milliseconds), .text(customer)])
                }
                continue
            }
            _ = try await store.write(for: nil) {
                try $0.execute("DELETE FROM forgottenCustomers WHERE customerId = ?", [.text(customer)])
            }
        }
    }
}
