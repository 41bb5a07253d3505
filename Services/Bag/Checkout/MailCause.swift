import Messages
import ObjectStore
import ParseProtocol

/// The cause of a mail that a customer triggers, in the form that the mail service requires: whether the address is
/// known to belong to the customer, which user asked, and from which network. Stored with the checkout, because another
/// process may write the mail when the order is placed.
package struct MailCause: Sendable, Equatable {
    package var addressVerified = false
    /// The shop itself causes the mail.
    package var byShop = false
    package var userId = ""
    /// Same as `Principal.network`.
    package var network = ""

    func keep(for checkoutId: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "INSERT INTO checkoutMailCauses(checkoutId, verified, network) VALUES (?, ?, ?)",
            [.text(checkoutId), .int(addressVerified ? 1 : 0), .text(network)])
    }

    /// The stored cause of a checkout's mail. A checkout of a release without this table has no row: then only the
    /// customer is known.
    static func of(_ checkout: Checkout, in store: ObjectReader) throws -> MailCause {
        let row = try store.rows(
            "SELECT verified, network FROM checkoutMailCauses WHERE checkoutId = ?", [.text(checkout.id)]
        ).first
        guard let row else { return MailCause(userId: checkout.customerId) }
        return try MailCause(
            addressVerified: row.int("verified") == 1, userId: checkout.customerId, network: row.text("network"))
    }

    func fill(_ mail: inout SendMailRequest) {
        mail.addressVerified = addressVerified
        mail.byShop = byShop
        mail.userID = userId
        mail.network = network
    }
}
