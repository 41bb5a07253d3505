import ParseProtocol

/// The current prices of products, from the catalog.
package struct Prices: Sendable, Equatable {
    /// Every requested product. One without a price does not exist or is no longer sold.
    package var asked: Set<String> = []
    /// Minor units of the currency per piece, by product.
    package var unitPriceMinorUnits: [String: Int64] = [:]
    /// The brand's objectId, by product. A product without a price or brand has none.
    package var brands: [String: String] = [:]

    package init(
        asked: Set<String> = [], unitPriceMinorUnits: [String: Int64] = [:], brands: [String: String] = [:]
    ) {
        self.asked = asked
        self.unitPriceMinorUnits = unitPriceMinorUnits
        self.brands = brands
    }

    mutating func merge(_ newer: Prices) {
        for product in newer.asked {
            asked.insert(product)
            unitPriceMinorUnits[product] = newer.unitPriceMinorUnits[product]
            brands[product] = newer.brands[product]
        }
    }

    /// - Throws: `.objectNotFound` (101) when the product is not sold.
    package func requireSold(_ productId: String) throws {
        guard unitPriceMinorUnits[productId] != nil else { throw ParseError.objectNotFound }
    }

    /// The form in which `prepare` passes the prices to `before`: by product, null for one without a price.
    var json: JSON {
        .object(Dictionary(uniqueKeysWithValues: asked.map { ($0, unitPriceMinorUnits[$0].map(JSON.int) ?? .null) }))
    }

    init(json: JSON?) {
        for (product, price) in json?.objectValue ?? [:] {
            asked.insert(product)
            unitPriceMinorUnits[product] = price.intValue
        }
    }
}
