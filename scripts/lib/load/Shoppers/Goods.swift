import ParseProtocol
import SuiteClient

/// The shop's public products and brands, and how often each is viewed.
struct Goods: Sendable {
    private let brandIds: [String]
    private let productIds: [String]
    /// A word of each product's name, as typed by shoppers.
    private let words: [String]
    private let products: Zipf
    private let brands: Zipf

    /// Maximum products used: more would not change the requests.
    private static let productsMax = 100_000
    private static let pageSize = 1000
    private static let batchSize = 50
    /// Stock per product when goods must not run out.
    private static let plenty: JSON = 1_000_000

    /// Reads brands and products.
    /// - Parameter masterKey: if set, raises the stock of every product so that none runs out. Only for test suites.
    /// - Throws: `LoadError` when they cannot be read, or there are none.
    init(_ client: LoadClient, mix: Mix, masterKey: String?) async throws {
        var client = client
        let shelf = try await Self.page(
            "/classes/Category", ["keys": "title", "order": "title", "limit": .int(Int64(Self.pageSize))], &client)
        let rows = try await Self.products(&client, inStock: masterKey == nil)
        guard !shelf.isEmpty, !rows.isEmpty else { throw LoadError("The shop has no brands or no products in stock.") }
        // The popularity of products must not follow from the order of their ids.
        let shuffled = rows.shuffled()
        brandIds = shelf.compactMap { $0["objectId"]?.stringValue }.shuffled()
        productIds = shuffled.compactMap { $0["objectId"]?.stringValue }
        words = shuffled.map { row in
            let name = row["name"]?.stringValue ?? ""
            return name.split { !$0.isLetter }.filter { $0.count > 3 }.randomElement().map { $0.lowercased() }
                ?? "serum"
        }
        products = Zipf(count: productIds.count, exponent: mix.productExponent)
        brands = Zipf(count: brandIds.count, exponent: mix.brandExponent)
        client.masterKey = masterKey
        if masterKey != nil { try await restock(&client) }
        client.close()
    }

    var productCount: Int { productIds.count }

    func product(using random: inout some RandomNumberGenerator) -> String {
        productIds[products.rank(using: &random)]
    }

    func brand(using random: inout some RandomNumberGenerator) -> String { brandIds[brands.rank(using: &random)] }

    func word(using random: inout some RandomNumberGenerator) -> String { words[products.rank(using: &random)] }

    private static func products(_ client: inout LoadClient, inStock: Bool) async throws -> [JSON] {
        var rows: [JSON] = []
        while rows.count < productsMax {
            // Pages by objectId instead of `skip`, so that the hundredth page costs as much as the first.
            var condition: [String: JSON] = ["active": true]
            if let last = rows.last?["objectId"] { condition["objectId"] = ["$gt": last] }
            // A product without a stock field never runs out.
            if inStock { condition["$or"] = [["stock": ["$gt": 0]], ["stock": ["$exists": false]]] }
            let more = try await page(
                "/classes/Product",
                [
                    "where": .object(condition), "keys": "name", "order": "objectId",
                    "limit": .int(Int64(pageSize)),
                ], &client)
            rows += more
            guard more.count == pageSize else { break }
        }
        return rows
    }

    private static func page(_ path: String, _ query: [String: JSON], _ client: inout LoadClient) async throws -> [JSON]
    {
        try await client.json(Request(path: path, query: query))["results"]?.arrayValue ?? []
    }

    private func restock(_ client: inout LoadClient) async throws {
        let mount = client.mount
        for start in stride(from: 0, to: productIds.count, by: Self.batchSize) {
            let ids = productIds[start..<min(start + Self.batchSize, productIds.count)]
            let items = ids.map { id -> JSON in
                ["method": "PUT", "path": .string("\(mount)/classes/Product/\(id)"), "body": ["stock": Self.plenty]]
            }
            let answers = try await client.json(.post("/batch", ["requests": .array(items)]))
            let problem = answers.arrayValue?.first { $0["success"] == nil }
            if let problem { throw LoadError("The stock cannot be raised: \(problem.serializedText.prefix(300))") }
        }
    }
}
