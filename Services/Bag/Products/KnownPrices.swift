import ObjectStore
import ParseProtocol

/// The last price heard of each product that is or was in a bag, so that an order's total can be computed inside a
/// transaction, which cannot ask the catalog.
enum KnownPrices {
    static func remember(_ prices: Prices, in transaction: StoreTransaction) throws {
        for product in prices.asked {
            guard let price = prices.unitPriceMinorUnits[product] else {
                // Not sold, and perhaps an id that somebody made up: no row.
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

    /// Sum of the items at known prices, in minor units. What is not sold any more counts nothing.
    static func total(_ items: [BagItem], in transaction: StoreTransaction) throws -> Int64 {
        try items.reduce(0) { sum, item in
            let rows = try transaction.rows(
                "SELECT unitPriceMinorUnits FROM knownPrices WHERE productId = ?", [.text(item.productId)])
            // 200 items of 999 pieces at most 10^9 each stay far below 2^63.
            return try sum + Int64(item.quantity) * (rows.first?["unitPriceMinorUnits"].intValue ?? 0)
        }
    }
}
