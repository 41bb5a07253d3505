import ParseProtocol

/// The present prices of products, as the catalog said.
package struct Prices: Sendable, Equatable {
    /// Every product that was asked for. One without a price does not exist or is not sold any more.
    package var asked: Set<String> = []
    /// Minor units of the currency per piece, by product.
    package var unitPriceMinorUnits: [String: Int64] = [:]

    package init(asked: Set<String> = [], unitPriceMinorUnits: [String: Int64] = [:]) {
        self.asked = asked
        self.unitPriceMinorUnits = unitPriceMinorUnits
    }

    mutating func merge(_ newer: Prices) {
        for product in newer.asked {
            asked.insert(product)
            unitPriceMinorUnits[product] = newer.unitPriceMinorUnits[product]
        }
    }

    /// - Throws: `.objectNotFound` (101) when the product is not sold.
    package func requireSold(_ productId: String) throws {
        guard unitPriceMinorUnits[productId] != nil else { throw ParseError.objectNotFound }
    }

    // As a note that travels from `prepare` to `before`: the price of each product, null when it has none.
    var note: JSON {
        .object(Dictionary(uniqueKeysWithValues: asked.map { ($0, unitPriceMinorUnits[$0].map(JSON.int) ?? .null) }))
    }

    init(note: JSON?) {
        for (product, price) in note?.objectValue ?? [:] {
            asked.insert(product)
            unitPriceMinorUnits[product] = price.intValue
        }
    }
}
