import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// `catalog.price.v1`: the current prices of lines. Leaves out products that the caller may not see or that are not for
/// sale.
package struct PriceList: Sendable {
    let currency: Currency

    package init(currency: Currency) { self.currency = currency }

    static let linesMax = 200
    static let quantities: ClosedRange<UInt32> = 1...999

    /// The fields that determine a product's price and discounts.
    private static let keys = ["name", "unitPrice", "active", "stock", "brand"]

    /// The prices, and the products themselves if requested.
    /// - Throws: `.validationError` (142) for too many lines.
    package func price(_ request: PriceRequest, caller: Caller, in reader: ObjectReader) throws -> BusReply {
        guard request.lines.count <= Self.linesMax else {
            throw ParseError(.validationError, "At most \(Self.linesMax) lines can be priced at once.")
        }
        let found = try reader.fetch(
            "Product", ids: Array(Set(request.lines.map(\.productID))), keys: request.withProducts ? [] : Self.keys,
            caller: caller)
        var products: [String: Product] = [:]
        var brands: [String: String] = [:]
        for (objectId, document) in found {
            let product = try JSON(parsing: document)
            products[objectId] = Product(document: product, currency: currency)
            brands[objectId] = product["brand"]?.pointerTarget?.objectId
        }
        let reply = PriceReply.with { reply in
            reply.currency = currency.code
            reply.lines = request.lines.compactMap { line in
                guard let product = products[line.productID] else { return nil }
                var priced = PricedLine(line, product)
                priced.brandID = brands[line.productID] ?? ""
                return priced
            }
            if request.withProducts { reply.productIds = found.map(\.objectId) }
        }
        return try BusReply(reply, documents: request.withProducts ? found.map(\.document) : [])
    }
}

extension PricedLine {
    init(_ line: OrderLine, _ product: Product) {
        self.init()
        productID = line.productID
        quantity = line.quantity
        name = product.name
        unitPriceMinorUnits = product.unitPriceMinorUnits
    }
}
