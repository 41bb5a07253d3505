import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// `bag.merge.v1`: the bag that somebody filled anonymously moves into the account's.
package enum BagMerge {
    /// The catalog's answer about products.
    package struct Goods: Sendable {
        package var prices = Prices()
        /// Pieces in stock; a product that is not counted has none here.
        package var stock: [String: Int64] = [:]

        package init(prices: Prices = Prices(), stock: [String: Int64] = [:]) {
            self.prices = prices
            self.stock = stock
        }
    }

    /// Products that nothing is known about yet.
    package struct GoodsMissing: Error { package let products: Set<String> }

    /// The pieces that a line has afterwards: both together, as far as they are in stock and a line may have so many.
    /// What the account's bag had stays.
    package static func quantity(_ present: Int, adding added: Int, stock: Int64?) -> Int {
        let most = min(Int64(Quantity.max), max(0, stock ?? .max))
        return max(present, Int(min(most, Int64(present) + Int64(added))))
    }

    /// Moves all that the bag service has of `from`. Doing it again does nothing, because nothing is left there then.
    /// - Throws: `.serviceUnavailable` (2) while one of the bags is being paid: how that ends has to be known first.
    package static func move(
        from: String, to: String, goods: Goods, currency: String, in transaction: StoreTransaction
    ) throws {
        guard from != to else { return }
        // The account was deleted before its bag arrived.
        guard try !AccountDeletion.happened(to: to, in: transaction) else {
            return try AccountDeletion.forget(from, in: transaction)
        }
        try moveBag(from: from, to: to, goods: goods, currency: currency, in: transaction)
        try moveHistory(from: from, to: to, in: transaction)
    }

    private static func moveBag(
        from: String, to: String, goods: Goods, currency: String, in transaction: StoreTransaction
    ) throws {
        guard let left = try OpenOrder.find(for: from, in: transaction) else { return }
        try requireNotBeingPaid(left, in: transaction)
        let missing = Set(left.items.map(\.productId)).subtracting(goods.prices.asked)
        guard missing.isEmpty else { throw GoodsMissing(products: missing) }
        try KnownPrices.remember(goods.prices, in: transaction)
        if var bag = try OpenOrder.find(for: to, in: transaction) {
            try requireNotBeingPaid(bag, in: transaction)
            try fill(&bag, from: left, goods, in: transaction)
        } else if left.items.contains(where: { moved($0.productId, goods, 0, $0.quantity) > 0 }) {
            var bag = try OpenOrder.findOrCreate(for: to, currency: currency, by: .master, in: transaction)
            try fill(&bag, from: left, goods, in: transaction)
        }
        try left.delete(in: transaction)
    }

    private static func fill(
        _ bag: inout OpenOrder, from left: OpenOrder, _ goods: Goods, in transaction: StoreTransaction
    ) throws {
        // Each product once: an app that saves lines itself may have made several of one.
        var added: [String: Int] = [:]
        var products: [String] = []
        for item in left.items {
            if added[item.productId] == nil { products.append(item.productId) }
            added[item.productId, default: 0] += item.quantity
        }
        for product in products {
            let present = bag.quantity(of: product)
            let quantity = moved(product, goods, present, added[product] ?? 0)
            // A full bag takes more of what it has, and nothing else.
            guard quantity > present, present > 0 || bag.items.count < OpenOrder.itemsMax else { continue }
            try bag.set(product, to: quantity, in: transaction)
        }
        try bag.save(in: transaction)
        var texts: JSON = [:]
        for name in ["note", "giftMessage", "shippingAddress"] where isEmpty(bag.document[name]) {
            texts[name] = left.document[name]
        }
        if texts != [:] { _ = try transaction.update("Order", bag.objectId, texts, caller: .master) }
    }

    private static func moved(_ product: String, _ goods: Goods, _ present: Int, _ added: Int) -> Int {
        guard goods.prices.unitPriceMinorUnits[product] != nil else { return present }  // Not sold any more.
        return quantity(present, adding: added, stock: goods.stock[product])
    }

    private static func isEmpty(_ value: JSON?) -> Bool {
        value == nil || value == .null || value == "" || value == [:]
    }

    private static func requireNotBeingPaid(_ order: OpenOrder, in transaction: StoreTransaction) throws {
        guard try CheckoutLedger.running(order.objectId, in: transaction) == nil else {
            throw ParseError(.serviceUnavailable, "The bag is being paid.")
        }
    }
}

/// The message from `users`, with the catalog asked before.
struct BagMerges: Sendable {
    let host: ServiceHost
    let currency: String

    /// An app may go on filling the anonymous bag meanwhile; more rounds mean that something is wrong.
    private static let roundsMax = 5

    func merge(_ message: MergeBag, _ request: ServiceRequest) async throws -> BusReply {
        guard Names.isObjectId(message.fromUserID), Names.isObjectId(message.toUserID) else {
            throw ParseError(.validationError, "A merge needs two users.")
        }
        var goods = BagMerge.Goods()
        for _ in 0..<Self.roundsMax {
            do {
                return try await host.commit(request) { [goods, currency] transaction in
                    try BagMerge.move(
                        from: message.fromUserID, to: message.toUserID, goods: goods, currency: currency,
                        in: transaction)
                    return try BusReply(Accepted())
                }
            } catch let missing as BagMerge.GoodsMissing {
                let facts = try await Catalog(host: host).facts(
                    about: missing.products, as: .satchel, traceId: request.envelope.traceID)
                goods.prices.merge(facts.prices)
                goods.stock.merge(facts.documents.compactMapValues { $0["stock"]?.intValue }) { $1 }
            }
        }
        throw ParseError(.serviceUnavailable, "The bag is changing too fast; try again.")
    }
}
