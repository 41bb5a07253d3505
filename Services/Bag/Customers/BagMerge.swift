import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// `bag.merge.v1`: merges the bag of an anonymous user into the account's bag.
package enum BagMerge {
    /// The catalog's reply about products.
    package struct CatalogReply: Sendable {
        package var prices = Prices()
        /// Pieces in stock. A product whose stock is not counted has no entry.
        package var stock: [String: Int64] = [:]

        package init(prices: Prices = Prices(), stock: [String: Int64] = [:]) {
            self.prices = prices
            self.stock = stock
        }
    }

    /// Thrown when the merge needs the catalog's reply about these products.
    package struct ProductsMissing: Error { package let products: Set<String> }

    /// The quantity of a line after the merge: the sum, limited by stock and by the maximum of a line. Never less than
    /// the account's own quantity.
    package static func quantity(_ present: Int, adding added: Int, stock: Int64?) -> Int {
        let most = min(Int64(Quantity.max), max(0, stock ?? .max))
        return max(present, Int(min(most, Int64(present) + Int64(added))))
    }

    /// Copies the lines of the bag of `from`, unless it has no bag or the bag is being paid. Copies nothing else.
    package static func copyLines(
        from: String, to: String, catalog: CatalogReply, currency: String, in transaction: StoreTransaction
    ) throws {
        guard from != to, try !DeletedUsers.contains(to, in: transaction),
            let anonymousBag = try OpenOrder.find(for: from, in: transaction),
            try CheckoutLedger.running(anonymousBag.objectId, in: transaction) == nil
        else { return }
        _ = try fill(to, from: anonymousBag, catalog, currency, in: transaction)
    }

    /// Moves everything that the bag service stores for `from`. Idempotent: a second call finds nothing to move.
    /// - Throws: `.serviceUnavailable` (2) while one of the bags is being paid: the payment must end first.
    package static func move(
        from: String, to: String, catalog: CatalogReply, currency: String, in transaction: StoreTransaction
    ) throws {
        guard from != to else { return }
        // The account was deleted before its bag arrived.
        guard try !DeletedUsers.contains(to, in: transaction) else {
            return try AccountDeletion.forget(from, in: transaction)
        }
        try moveBag(from: from, to: to, catalog: catalog, currency: currency, in: transaction)
        try moveHistory(from: from, to: to, currency: currency, in: transaction)
    }

    private static func moveBag(
        from: String, to: String, catalog: CatalogReply, currency: String, in transaction: StoreTransaction
    ) throws {
        guard let anonymousBag = try OpenOrder.find(for: from, in: transaction) else { return }
        try requireNoUnconfirmedCheckout(of: anonymousBag, in: transaction)
        try requireNotBeingPaid(anonymousBag, in: transaction)
        if let bag = try fill(to, from: anonymousBag, catalog, currency, in: transaction) {
            try moveTexts(to: bag, from: anonymousBag, in: transaction)
        }
        try anonymousBag.delete(in: transaction)
    }

    /// Adds the lines of a bag to the bag of `to`.
    /// - Returns: the bag of `to`; nil when it has none and needs none.
    private static func fill(
        _ to: String, from anonymousBag: OpenOrder, _ catalog: CatalogReply, _ currency: String,
        in transaction: StoreTransaction
    ) throws -> OpenOrder? {
        let missing = Set(anonymousBag.items.map(\.productId)).subtracting(catalog.prices.asked)
        guard missing.isEmpty else { throw ProductsMissing(products: missing) }
        try KnownPrices.remember(catalog.prices, in: transaction)
        var bag: OpenOrder
        if let present = try OpenOrder.find(for: to, in: transaction) {
            bag = present
            try requireNotBeingPaid(bag, in: transaction)
        } else {
            guard anonymousBag.items.contains(where: { merged($0.productId, catalog, 0, $0.quantity) > 0 }) else {
                return nil
            }
            bag = try OpenOrder.findOrCreate(for: to, currency: currency, by: .master, in: transaction)
        }
        try fill(&bag, from: anonymousBag, catalog, in: transaction)
        return bag
    }

    private static func fill(
        _ bag: inout OpenOrder, from anonymousBag: OpenOrder, _ catalog: CatalogReply, in transaction: StoreTransaction
    ) throws {
        // Each product once: an app that saves lines itself may have created several lines of one product.
        var added: [String: Int] = [:]
        var products: [String] = []
        for item in anonymousBag.items {
            if added[item.productId] == nil { products.append(item.productId) }
            added[item.productId, default: 0] += item.quantity
        }
        for product in products {
            let present = bag.quantity(of: product)
            let quantity = merged(product, catalog, present, added[product] ?? 0)
            // A full bag accepts more pieces of products that it contains, but no new lines.
            guard quantity > present, present > 0 || bag.items.count < OpenOrder.itemsMax else { continue }
            try bag.set(product, to: quantity, in: transaction)
        }
        try bag.save(in: transaction)
    }

    private static func moveTexts(
        to bag: OpenOrder, from anonymousBag: OpenOrder, in transaction: StoreTransaction
    ) throws {
        var texts: JSON = [:]
        for name in ["note", "giftMessage", "shippingAddress", "discountCode"] where isEmpty(bag.document[name]) {
            texts[name] = anonymousBag.document[name]
        }
        if texts != [:] { _ = try transaction.update("Order", bag.objectId, texts, caller: .master) }
    }

    /// The quantity of a product after the merge; unchanged when it is no longer sold.
    private static func merged(_ product: String, _ catalog: CatalogReply, _ present: Int, _ added: Int) -> Int {
        guard catalog.prices.unitPriceMinorUnits[product] != nil else { return present }
        return quantity(present, adding: added, stock: catalog.stock[product])
    }

    private static func isEmpty(_ value: JSON?) -> Bool {
        value == nil || value == .null || value == "" || value == [:]
    }

    /// - Throws: `UnconfirmedCheckout` when the bag has a checkout that awaits confirmation: its customer's session has
    ///   ended, so nothing will confirm it.
    private static func requireNoUnconfirmedCheckout(of order: OpenOrder, in transaction: StoreTransaction) throws {
        guard let id = try CheckoutLedger.running(order.objectId, in: transaction) else { return }
        let unconfirmed = try transaction.rows(
            "SELECT 1 FROM checkouts WHERE id = ? AND actionSince IS NOT NULL", [.text(id)])
        if !unconfirmed.isEmpty { throw UnconfirmedCheckout(checkoutId: id) }
    }

    private static func requireNotBeingPaid(_ order: OpenOrder, in transaction: StoreTransaction) throws {
        guard try CheckoutLedger.running(order.objectId, in: transaction) == nil else {
            throw ParseError(.serviceUnavailable, "The bag is being paid.")
        }
    }
}

/// Handles the message from `users`, after asking the catalog.
struct BagMergeHandler: Sendable {
    let host: ServiceHost
    let currency: String
    let runner: CheckoutRunner

    /// How long a merge waits for the end of a payment.
    private static let giveUpMax = Duration.seconds(5)
    /// An app may add to the anonymous bag meanwhile. More rounds indicate a defect.
    private static let roundsMax = 5

    func merge(_ message: MergeBag, _ request: ServiceRequest) async throws -> BusReply {
        guard Names.isObjectId(message.fromUserID), Names.isObjectId(message.toUserID) else {
            throw ParseError(.validationError, "A merge needs two users.")
        }
        var catalog = BagMerge.CatalogReply()
        for _ in 0..<Self.roundsMax {
            do {
                return try await host.commit(request) { [catalog, currency] transaction in
                    let merge = message.linesOnly ? BagMerge.copyLines : BagMerge.move
                    try merge(message.fromUserID, message.toUserID, catalog, currency, transaction)
                    return try BusReply(Accepted())
                }
            } catch let unconfirmed as UnconfirmedCheckout {
                // Ends the payment, or places the order if the customer has confirmed it.
                guard case .decided? = await runner.giveUp(unconfirmed.checkoutId, within: Self.giveUpMax) else {
                    throw ParseError(.serviceUnavailable, "The bag is being paid.")
                }
            } catch let missing as BagMerge.ProductsMissing {
                let facts = try await Catalog(host: host).facts(
                    about: missing.products, as: .satchel, for: request)
                catalog.prices.merge(facts.prices)
                catalog.stock.merge(facts.documents.compactMapValues { $0["stock"]?.intValue }) { $1 }
            }
        }
        throw ParseError(.serviceUnavailable, "The bag is changing too fast; try again.")
    }
}
