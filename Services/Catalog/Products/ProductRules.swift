import ObjectStore
import ParseProtocol
import ServiceKit

/// The rules of `Product`: what makes a product sellable. They check the resulting document, which also covers
/// operations such as `Increment`.
struct ProductRules: ClassRules {
    let photos: ProductPhotos
    /// The shop's currency, which limits the decimals of a price.
    let currency: Currency
    let outbox: Outbox
    let preparesFiles = true

    func prepare(_ change: inout ProposedChange) async throws { try await photos.prepare(&change) }

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        // Computed from reviews; clients that send whole objects include old values.
        change.object["ratingAverage"] = nil
        change.object["ratingCount"] = nil
        try photos.record(change, in: transaction)
        if change.verb == .create, change.object["active"] == nil { change.object["active"] = true }
    }

    func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws {
        guard let product = outcome.after else {
            try StockLedger.follow(outcome, by: change.principal, in: transaction)
            try ProductRemoval.tellBag(of: outcome.objectId, outcome.before, outbox, in: transaction)
            return try ProductRemoval.removeDependents(of: outcome.objectId, in: transaction)
        }
        photos.answer(change, &outcome)
        guard let name = product["name"]?.stringValue, name.contains(where: { !$0.isWhitespace }) else {
            throw ParseError(.validationError, "A product needs a name.")
        }
        guard name.utf8.count <= Product.nameBytesMax else {
            throw ParseError(.validationError, "A product's name has at most \(Product.nameBytesMax) bytes.")
        }
        guard Price.minorUnits(product["unitPrice"], in: currency) != nil else {
            throw ParseError(.validationError, "unitPrice must be \(Price.rule(in: currency)).")
        }
        if let stock = product["stock"], !stock.isNull {
            guard let pieces = stock.intValue, (0...Product.stockMax).contains(pieces) else {
                throw ParseError(.validationError, "stock must be a whole number from 0 to \(Product.stockMax).")
            }
        }
        try StockLedger.follow(outcome, by: change.principal, in: transaction)
    }
}

/// The data of a product that prices and stock need.
struct Product {
    let name: String
    let unitPriceMinorUnits: Int64
    /// Pieces left. Nil when the product has no `stock` field: its stock is not counted and never runs out. This keeps
    /// products of apps without stock working.
    let stock: Int64?

    static let stockMax: Int64 = 1_000_000_000
    /// Orders and mails repeat the name. A checkout proves beforehand that a name of this size can be stored.
    static let nameBytesMax = 500

    /// Nil when the product is not for sale: inactive, or without a price.
    init?(document: JSON, currency: Currency) {
        guard document["active"] != false, let name = document["name"]?.stringValue,
            let price = Price.minorUnits(document["unitPrice"], in: currency)
        else { return nil }
        self.name = name
        unitPriceMinorUnits = price
        stock = document["stock"]?.intValue
    }
}
