import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// `catalog.price.v1`: what lines cost at the moment. Products the caller may not see, and those that are not for sale,
/// are left out.
struct PriceList: Sendable {
    let currency: Currency

    static let linesMax = 200
    static let quantities: ClosedRange<UInt32> = 1...999

    func price(_ request: PriceRequest, caller: Caller, in reader: some ObjectReading) throws -> PriceReply {
        guard request.lines.count <= Self.linesMax else {
            throw ParseError(.validationError, "At most \(Self.linesMax) lines can be priced at once.")
        }
        var products: [String: Product] = [:]
        for (objectId, document) in try reader.fetch(
            "Product", ids: Array(Set(request.lines.map(\.productID))), keys: ["name", "unitPrice", "active", "stock"],
            caller: caller)
        {
            products[objectId] = Product(document: try JSON(parsing: document), currency: currency)
        }
        return PriceReply.with { reply in
            reply.currency = currency.code
            reply.lines = request.lines.compactMap { line in
                products[line.productID].map { PricedLine(line, $0) }
            }
        }
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
