import ParseProtocol

/// The products and brands that the shoppers find.
struct Shelf: Sendable {
    let brandIds: [String]
    let productIds: [String]

    /// The demo shop, with stock that does not run out.
    static func stocked(by master: Master) async throws -> Shelf {
        let brands = try await master.find("/classes/Category", ["keys": "title", "limit": 100])
        let products = try await master.find("/classes/Product", ["keys": "name", "limit": 1000])
        let shelf = Shelf(
            brandIds: brands.compactMap { $0["objectId"]?.stringValue },
            productIds: products.compactMap { $0["objectId"]?.stringValue })
        guard !shelf.brandIds.isEmpty, !shelf.productIds.isEmpty else {
            throw AttackError("The shop is empty: load the demo shop first.")
        }
        try await master.batch("PUT", shelf.productIds.map { ("/classes/Product/\($0)", ["stock": 1_000_000]) })
        return shelf
    }

    /// Parts of product names, as typed by shoppers.
    static let words = ["serum", "cream", "night", "balm", "rose", "clean", "oil", "mask"]
}
