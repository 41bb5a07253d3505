import ObjectStore
import ParseProtocol
import ServiceKit

/// Current prices for a client's save of an `Order` or `OrderItem`: requested in `prepare`, before the transaction, and
/// stored in the transaction.
struct BagPrices: Sendable {
    let host: ServiceHost

    private static let key = "prices"

    /// Requests prices of `products` and of the products in `items` and the caller's open order. Records the answer.
    @discardableResult
    func ask(for change: inout ProposedChange, products: [String], items: [String]) async throws -> Prices {
        guard let userId = change.caller.userId else { return Prices() }  // The transaction refuses it.
        let inBag = try await host.store.read(for: change.request?.share) { reader in
            try (OpenOrder.find(for: userId, in: reader)?.items ?? []) + BagItem.load(items, in: reader)
        }
        let own = inBag.filter { $0.customerId == userId }.map(\.productId)
        let prices = try await Catalog(host: host).prices(
            of: Set(own + products), as: change.principal, for: change.request)
        change.notes[Self.key] = prices.json
        return prices
    }

    static func remember(_ change: ProposedChange, in transaction: StoreTransaction) throws {
        try KnownPrices.remember(Prices(json: change.notes[key]), in: transaction)
    }
}
