import ArgumentParser
import ParseProtocol

/// Loads the demo shop. Objects that are there already (found by `demoKey`) stay as they are, so that a load can be
/// repeated and never undoes what an operator changed.
struct DemoShop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-shop", abstract: "Loads brands, products, stores, pages, promotions and reviews.")

    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var data: DataOptions

    func run() async throws {
        let shop = try data.shopData()
        try await Gateway.connected(to: gateway.endpoint()) { gateway in
            try await DemoShopLoad(loader: Loader(gateway: gateway), shop: shop).run()
        }
    }
}

struct DemoShopLoad {
    let loader: Loader
    let shop: ShopData

    /// The batch size that every Parse server accepts.
    private static let batchSize = 50

    func run() async throws {
        let brands = try await categories()
        let products = try await load("Product", shop.rows("products")) { row in
            var product = DemoShopLoad.members(
                row, ["name", "detail", "unitPrice", "priceUnit", "stock", "tags"])
            product["brand"] = try DemoShopLoad.reference("Category", row.text("brand"), in: brands)
            product["active"] = true
            return product
        }
        try await load("Store", shop.rows("stores")) { row in
            var store = DemoShopLoad.members(row, ["name", "address", "city", "zipcode", "hours"])
            store["location"] = [
                "__type": "GeoPoint", "latitude": row["latitude"] ?? 0, "longitude": row["longitude"] ?? 0,
            ]
            return store
        }
        try await load("Page", shop.rows("pages")) {
            DemoShopLoad.members($0, ["name", "title", "content", "published"])
        }
        try await load("Promotion", shop.rows("promotions")) { DemoShopLoad.members($0, ["content"]) }
        let people = try await reviewers()
        try await load("ProductReview", shop.rows("reviews")) { row in
            var review = DemoShopLoad.members(row, ["content", "rating"])
            review["product"] = try DemoShopLoad.reference("Product", row.text("product"), in: products)
            review["user"] = try DemoShopLoad.reference("_User", row.text("author"), in: people)
            return review
        }
    }

    /// The brands' objectIds by key, loaded when absent.
    func categories() async throws -> [String: String] {
        try await load("Category", shop.rows("categories")) { DemoShopLoad.members($0, ["title"]) }
    }

    /// Loads the rows of one class that are not there yet.
    /// - Parameter fields: the object's fields for a row; `demoKey` is added here.
    /// - Returns: the objectIds by key, of new objects and of those that were there.
    @discardableResult
    private func load(
        _ className: String, _ rows: [(key: String, row: JSON)], fields: (JSON) throws -> [String: JSON]
    ) async throws -> [String: String] {
        var progress = Progress(className, total: rows.count)
        var ids = try await loader.existing(className)
        let objects = try rows.filter { ids[$0.key] == nil }.map { key, row in
            JSON.object(try fields(row).merging(["demoKey": .string(key)]) { _, key in key })
        }
        for start in stride(from: 0, to: objects.count, by: DemoShopLoad.batchSize) {
            let batch = objects[start..<min(start + DemoShopLoad.batchSize, objects.count)]
            ids.merge(try await loader.create(className, Array(batch))) { _, new in new }
            progress.update(rows.count - objects.count + start + batch.count)
        }
        progress.finish(new: objects.count)
        return ids
    }

    /// Customers who wrote the reviews. Nobody knows their passwords.
    private func reviewers() async throws -> [String: String] {
        let rows = try shop.rows("reviewers")
        var progress = Progress("_User", total: rows.count)
        var ids = try await loader.existing("_User")
        var new = 0
        for (done, (key, row)) in rows.enumerated() where ids[key] == nil {
            var fields = DemoShopLoad.members(row, ["firstName", "lastName"])
            fields["password"] = .string(Names.random(32))
            fields["demoKey"] = .string(key)
            let user = try await loader.gateway.signUp(username: row.text("username"), fields: fields)
            ids[key] = user.objectId
            new += user.isNew ? 1 : 0
            progress.update(done + 1)
        }
        progress.finish(new: new)
        return ids
    }

    private static func members(_ row: JSON, _ names: [String]) -> [String: JSON] {
        (row.objectValue ?? [:]).filter { names.contains($0.key) }
    }

    private static func reference(_ className: String, _ key: String, in ids: [String: String]) throws -> JSON {
        guard let id = ids[key] else {
            throw SetupError.invalid("The shop data has no \(className) with key \"\(key)\".")
        }
        return .pointer(className, id)
    }
}
