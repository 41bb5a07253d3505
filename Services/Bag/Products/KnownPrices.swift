import ObjectStore
import ParseProtocol

/// The last known price of each product that is or was in a bag. Transactions compute an order's total from it, because
/// they cannot ask the catalog.
enum KnownPrices {
    static func remember(_ prices: Prices, in transaction: StoreTransaction) throws {
        for product in prices.asked {
            guard let price = prices.unitPriceMinorUnits[product] else {
                // The product is not sold, and the id may be invented, so it gets no row.
                _ = try transaction.execute("DELETE FROM knownPrices WHERE productId = ?", [.text(product)])
                continue
            }
            _ = try transaction.execute(
                """
                INSERT INTO knownPrices(productId, unitPriceMinorUnits) VALUES (?, ?)
                ON CONFLICT(productId) DO UPDATE SET unitPriceMinorUnits = excluded.unitPriceMinorUnits
                WHERE knownPrices.unitPriceMinorUnits IS NULL
                OR knownPrices.unitPriceMinorUnits <> excluded.unitPriceMinorUnits
                """,
                [.text(product), .int(price)])
        }
    }

    /// Sum of the items at known prices, in minor units. Products that are no longer sold add nothing.
    static func total(_ items: [BagItem], in transaction: StoreTransaction) throws -> Int64 {
        try items.reduce(0) { sum, item in
            let rows = try transaction.rows(
                "SELECT unitPriceMinorUnits FROM knownPrices WHERE productId = ?", [.text(item.productId)])
            // No overflow: 200 items of 999 pieces at most 10^9 each are far below 2^63.
            return try sum + Int64(item.quantity) * (rows.first?["unitPriceMinorUnits"].intValue ?? 0)
        }
    }
}
