import ParseProtocol

/// Loads the demo shop. Existing objects (found by id or name) are left unchanged, so that a load can be repeated and
/// never undoes an operator's changes.
struct DemoShop {
    private let gateway: GatewayOptions
    private let data: DataOptions
    private let unmark: Bool

    init(_ words: some Sequence<String>) throws(SetupError) {
        let arguments = try Arguments(words, options: ["url", "data"], flags: ["unmark"])
        gateway = GatewayOptions(arguments)
        data = DataOptions(arguments)
        unmark = arguments.has("unmark")
    }

    func run() async throws {
        let shop = try data.shopData()
        try await Gateway.connected(to: gateway.endpoint()) { gateway in
            let load = DemoShopLoad(loader: Loader(gateway: gateway), shop: shop)
            try await load.removeMarks()
            if !unmark { try await load.run() }
        }
    }
}

struct DemoShopLoad {
    let loader: Loader
    let shop: ShopData

    private var pictures: DemoPictures { DemoPictures(gateway: loader.gateway, folder: shop.pictures) }

    /// The batch size that every Parse server accepts.
    private static let batchSize = 50

    private static let classNames = ["Category", "Product", "Store", "Page", "Promotion", "ProductReview", "_User"]

    /// Removes the marks that earlier releases put on the demo's objects.
    func removeMarks() async throws { try await loader.removeMarks(from: DemoShopLoad.classNames) }

    func run() async throws {
        // Concurrent, because a password takes the users service a quarter of a second.
        async let signedUp = signUpReviewers()
        let brands = try await categories()
        let products = try await products(brands)
        try await load("Store", named: "name", shop.rows("stores")) { row in
            var store = DemoShopLoad.members(row, ["name", "address", "city", "zipcode", "hours"])
            store["location"] = [
                "__type": "GeoPoint", "latitude": row["latitude"] ?? 0, "longitude": row["longitude"] ?? 0,
            ]
            return store
        }
        try await load("Page", named: "name", shop.rows("pages")) {
            DemoShopLoad.members($0, ["name", "title", "content", "published"])
        }
        try await promotions(brands, products)
        let progress = Progress("_User", total: try shop.rows("reviewers").count)
        let (people, newPeople) = try await signedUp
        progress.finish(new: newPeople)
        let names = try shop.rows("reviewers").reduce(into: [String: String]()) {
            $0[$1.key] = try $1.row.text("firstName")
        }
        try await load("ProductReview", named: "content", shop.rows("reviews")) { row in
            var review = DemoShopLoad.members(row, ["content", "rating"])
            review["product"] = try DemoShopLoad.reference("Product", row.text("product"), in: products)
            review["user"] = try DemoShopLoad.reference("_User", row.text("author"), in: people)
            review["authorName"] = try names[row.text("author")].map(JSON.string)
            return review
        }
    }

    /// The brands' objectIds by key, created if missing.
    func categories() async throws -> [String: String] {
        try await load("Category", named: "title", shop.rows("categories")) { row in
            var category = DemoShopLoad.members(row, ["title"])
            category["image"] = try await pictures.upload(row.text("key"))
            return category
        }
    }

    /// The products' objectIds by key.
    private func products(_ brands: [String: String]) async throws -> [String: String] {
        try await load("Product", named: "name", shop.rows("products")) { row in
            var product = DemoShopLoad.members(row, ["name", "detail", "unitPrice", "priceUnit", "stock", "tags"])
            product["brand"] = try DemoShopLoad.reference("Category", row.text("brand"), in: brands)
            product["active"] = true
            // The catalog makes no pictures for a product that has both. It would take half a second each.
            let file = try await pictures.upload(row.text("key"))
            product["fullsizeImage"] = file
            product["thumbnail"] = file
            return product
        }
    }

    private func promotions(_ brands: [String: String], _ products: [String: String]) async throws {
        // The home page asks by whole minutes.
        let lastHour = Timestamp(milliseconds: Timestamp.now.milliseconds - 3_600_000).wire
        try await load("Promotion", named: "content", shop.rows("promotions")) { row in
            var promotion = DemoShopLoad.members(row, ["content", "discountCode"])
            let file = try await pictures.upload(row.text("key"))
            promotion["image"] = file
            promotion["thumbnail"] = file
            promotion["shownFrom"] = lastHour
            if row["brand"] != nil {
                promotion["brand"] = try DemoShopLoad.reference("Category", row.text("brand"), in: brands)
            }
            if row["product"] != nil {
                promotion["product"] = try DemoShopLoad.reference("Product", row.text("product"), in: products)
            }
            return promotion
        }
        for (key, row) in try shop.rows("discountCodes") {
            var code = DemoShopLoad.members(row, ["percent", "minimumMinorUnits", "usesPerCustomerMax"])
            code["discountCode"] = .string(key)
            do {
                _ = try await loader.gateway.send(.post, "/functions/createDiscountCode", body: .object(code))
            } catch let error as SetupError where error.code == .duplicateValue {
                continue  // It stays as the operator has it.
            }
        }
    }

    /// Creates the missing rows of one class.
    /// - Parameters:
    ///   - field: the unique field that identifies an object of the class.
    ///   - fields: the object's fields for a row; the id is added here.
    /// - Returns: the objectIds by key, of new and of existing objects.
    @discardableResult
    private func load(
        _ className: String, named field: String, _ rows: [(key: String, row: JSON)],
        fields: (JSON) async throws -> [String: JSON]
    ) async throws -> [String: String] {
        var progress = Progress(className, total: rows.count)
        var ids = try await existing(className, named: field, rows)
        var objects: [JSON] = []
        for (key, row) in rows where ids[key] == nil {
            let id = DemoId.of(className, key)
            objects.append(.object(try await fields(row).merging(["objectId": .string(id)]) { _, id in id }))
            ids[key] = id
        }
        for start in stride(from: 0, to: objects.count, by: DemoShopLoad.batchSize) {
            let batch = objects[start..<min(start + DemoShopLoad.batchSize, objects.count)]
            try await loader.create(className, Array(batch))
            progress.update(rows.count - objects.count + start + batch.count)
        }
        progress.finish(new: objects.count)
        return ids
    }

    /// The objectIds by key of existing rows: with the id of this command or, from an earlier release, another one.
    private func existing(
        _ className: String, named field: String, _ rows: [(key: String, row: JSON)]
    ) async throws -> [String: String] {
        let keys = Dictionary(rows.map { (DemoId.of(className, $0.key), $0.key) }) { first, _ in first }
        let names = Dictionary(rows.compactMap { row in row.row[field].map { ($0, row.key) } }) { first, _ in first }
        let found = try await loader.find(
            className,
            [
                "$or": [
                    ["objectId": ["$in": .array(keys.keys.sorted().map(JSON.string))]],
                    .object([field: ["$in": .array(rows.compactMap { $0.row[field] })]]),
                ]
            ], keys: field)
        var ids: [String: String] = [:]
        for object in found {
            guard let id = object["objectId"]?.stringValue else { continue }
            if let key = keys[id] {
                ids[key] = id
            } else if let key = object[field].flatMap({ names[$0] }), ids[key] == nil {
                ids[key] = id
            }
        }
        return ids
    }

    /// Customers who wrote the reviews. Their passwords are random and not stored.
    private func signUpReviewers() async throws -> (ids: [String: String], new: Int) {
        let rows = try shop.rows("reviewers")
        var ids = try await existing("_User", named: "username", rows)
        var new = 0
        for (key, row) in rows where ids[key] == nil {
            var fields = DemoShopLoad.members(row, ["firstName", "lastName"])
            fields["password"] = .string(Names.random(32))
            let user = try await loader.gateway.signUp(username: row.text("username"), fields: fields)
            ids[key] = user.objectId
            new += user.isNew ? 1 : 0
        }
        return (ids, new)
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
