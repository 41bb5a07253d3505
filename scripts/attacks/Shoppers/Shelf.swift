import ParseProtocol

/// The goods that the shoppers find in the shop.
struct Shelf: Sendable {
    let brandIds: [String]
    let productIds: [String]

    /// The demo shop, with goods that do not run out.
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

    /// Parts of names of products, as shoppers type them.
    static let words = ["serum", "cream", "night", "balm", "rose", "clean", "oil", "mask"]
}
