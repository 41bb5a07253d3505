import ObjectStore
import ParseProtocol
import ServiceKit

/// Fresh prices for a change that a client makes by saving objects: asked before the transaction, remembered in it.
struct BagPrices: Sendable {
    let host: ServiceHost

    private static let note = "prices"

    /// Asks for `products`, the products of `items` and those of the caller's open order, and notes the answer.
    @discardableResult
    func ask(for change: inout ProposedChange, products: [String], items: [String]) async throws -> Prices {
        guard let userId = change.caller.userId else { return Prices() }  // Refused in the transaction.
        let inBag = try await host.store.read { reader in
            try (OpenOrder.find(for: userId, in: reader)?.items ?? []) + BagItem.load(items, in: reader)
        }
        let own = inBag.filter { $0.customerId == userId }.map(\.productId)
        let prices = try await Catalog(host: host).prices(of: Set(own + products), as: change.principal)
        change.notes[Self.note] = prices.note
        return prices
    }

    static func remember(_ change: ProposedChange, in transaction: StoreTransaction) throws {
        try KnownPrices.remember(Prices(note: change.notes[note]), in: transaction)
    }
}
