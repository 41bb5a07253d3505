import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// `bag.merge.v1`: merges the bag of an anonymous user into the account's bag.
package enum BagMerge {
    /// The catalog's answer about products.
    package struct Goods: Sendable {
        package var prices = Prices()
        /// Pieces in stock. A product whose stock is not counted has no entry.
        package var stock: [String: Int64] = [:]

        package init(prices: Prices = Prices(), stock: [String: Int64] = [:]) {
            self.prices = prices
            self.stock = stock
        }
    }

    /// Thrown when the catalog must be asked about these products first.
    package struct GoodsMissing: Error { package let products: Set<String> }

    /// The quantity of a line after the merge: the sum, limited by stock and by the maximum of a line. Never less than
    /// the account's own quantity.
    package static func quantity(_ present: Int, adding added: Int, stock: Int64?) -> Int {
        let most = min(Int64(Quantity.max), max(0, stock ?? .max))
        return max(present, Int(min(most, Int64(present) + Int64(added))))
    }

    /// Copies the lines of the bag of `from`, unless it has no bag or the bag is being paid. Copies nothing else.
    package static func copyLines(
        from: String, to: String, goods: Goods, currency: String, in transaction: StoreTransaction
    ) throws {
        guard from != to, try !AccountDeletion.happened(to: to, in: transaction),
            let left = try OpenOrder.find(for: from, in: transaction),
            try CheckoutLedger.running(left.objectId, in: transaction) == nil
        else { return }
        _ = try fill(to, from: left, goods, currency, in: transaction)
    }

    /// Moves everything that the bag service stores for `from`. Idempotent: a second call finds nothing to move.
    /// - Throws: `.serviceUnavailable` (2) while one of the bags is being paid: the payment must end first.
    package static func move(
        from: String, to: String, goods: Goods, currency: String, in transaction: StoreTransaction
    ) throws {
        guard from != to else { return }
        // The account was deleted before its bag arrived.
        guard try !AccountDeletion.happened(to: to, in: transaction) else {
            return try AccountDeletion.forget(from, in: transaction)
        }
        try moveBag(from: from, to: to, goods: goods, currency: currency, in: transaction)
        try moveHistory(from: from, to: to, currency: currency, in: transaction)
    }

    private static func moveBag(
        from: String, to: String, goods: Goods, currency: String, in transaction: StoreTransaction
    ) throws {
        guard let left = try OpenOrder.find(for: from, in: transaction) else { return }
        try requireNoWaitingPayment(of: left, in: transaction)
        try requireNotBeingPaid(left, in: transaction)
        if let bag = try fill(to, from: left, goods, currency, in: transaction) {
            try moveTexts(to: bag, from: left, in: transaction)
        }
        try left.delete(in: transaction)
    }

    /// Adds the lines of a bag to the bag of `to`.
    /// - Returns: the bag of `to`; nil when it has none and needs none.
    private static func fill(
        _ to: String, from left: OpenOrder, _ goods: Goods, _ currency: String, in transaction: StoreTransaction
    ) throws -> OpenOrder? {
        let missing = Set(left.items.map(\.productId)).subtracting(goods.prices.asked)
        guard missing.isEmpty else { throw GoodsMissing(products: missing) }
        try KnownPrices.remember(goods.prices, in: transaction)
        var bag: OpenOrder
        if let present = try OpenOrder.find(for: to, in: transaction) {
            bag = present
            try requireNotBeingPaid(bag, in: transaction)
        } else {
            guard left.items.contains(where: { merged($0.productId, goods, 0, $0.quantity) > 0 }) else { return nil }
            bag = try OpenOrder.findOrCreate(for: to, currency: currency, by: .master, in: transaction)
        }
        try fill(&bag, from: left, goods, in: transaction)
        return bag
    }

    private static func fill(
        _ bag: inout OpenOrder, from left: OpenOrder, _ goods: Goods, in transaction: StoreTransaction
    ) throws {
        // Each product once: an app that saves lines itself may have created several lines of one product.
        var added: [String: Int] = [:]
        var products: [String] = []
        for item in left.items {
            if added[item.productId] == nil { products.append(item.productId) }
            added[item.productId, default: 0] += item.quantity
        }
        for product in products {
            let present = bag.quantity(of: product)
            let quantity = merged(product, goods, present, added[product] ?? 0)
            // A full bag accepts more pieces of products that it contains, but no new lines.
            guard quantity > present, present > 0 || bag.items.count < OpenOrder.itemsMax else { continue }
            try bag.set(product, to: quantity, in: transaction)
        }
        try bag.save(in: transaction)
    }

    private static func moveTexts(to bag: OpenOrder, from left: OpenOrder, in transaction: StoreTransaction) throws {
        var texts: JSON = [:]
        for name in ["note", "giftMessage", "shippingAddress", "discountCode"] where isEmpty(bag.document[name]) {
            texts[name] = left.document[name]
        }
        if texts != [:] { _ = try transaction.update("Order", bag.objectId, texts, caller: .master) }
    }

    /// The quantity of a product after the merge; unchanged when it is no longer sold.
    private static func merged(_ product: String, _ goods: Goods, _ present: Int, _ added: Int) -> Int {
        guard goods.prices.unitPriceMinorUnits[product] != nil else { return present }
        return quantity(present, adding: added, stock: goods.stock[product])
    }

    private static func isEmpty(_ value: JSON?) -> Bool {
        value == nil || value == .null || value == "" || value == [:]
    }

    /// The payment of this bag waits until its customer confirms it, whose session has ended.
    struct PaymentWaits: Error { let checkoutId: String }

    private static func requireNoWaitingPayment(of order: OpenOrder, in transaction: StoreTransaction) throws {
        guard let id = try CheckoutLedger.running(order.objectId, in: transaction) else { return }
        let waiting = try transaction.rows(
            "SELECT 1 FROM checkouts WHERE id = ? AND actionSince IS NOT NULL", [.text(id)])
        if !waiting.isEmpty { throw PaymentWaits(checkoutId: id) }
    }

    private static func requireNotBeingPaid(_ order: OpenOrder, in transaction: StoreTransaction) throws {
        guard try CheckoutLedger.running(order.objectId, in: transaction) == nil else {
            throw ParseError(.serviceUnavailable, "The bag is being paid.")
        }
    }
}

/// Handles the message from `users`, after asking the catalog.
struct BagMerges: Sendable {
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
        var goods = BagMerge.Goods()
        for _ in 0..<Self.roundsMax {
            do {
                return try await host.commit(request) { [goods, currency] transaction in
                    let merge = message.linesOnly ? BagMerge.copyLines : BagMerge.move
                    try merge(message.fromUserID, message.toUserID, goods, currency, transaction)
                    return try BusReply(Accepted())
                }
            } catch let waiting as BagMerge.PaymentWaits {
                // Ends the payment, or makes the order if the customer has confirmed it.
                guard case .decided? = await runner.giveUp(waiting.checkoutId, within: Self.giveUpMax) else {
                    throw ParseError(.serviceUnavailable, "The bag is being paid.")
                }
            } catch let missing as BagMerge.GoodsMissing {
                let facts = try await Catalog(host: host).facts(
                    about: missing.products, as: .satchel, for: request)
                goods.prices.merge(facts.prices)
                goods.stock.merge(facts.documents.compactMapValues { $0["stock"]?.intValue }) { $1 }
            }
        }
        throw ParseError(.serviceUnavailable, "The bag is changing too fast; try again.")
    }
}
