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

    /// The batch size that every Parse server accepts.
    private static let batchSize = 50

    private static let classNames = ["Category", "Product", "Store", "Page", "Promotion", "ProductReview", "_User"]

    /// Removes the marks that earlier releases put on the demo's objects.
    func removeMarks() async throws { try await loader.removeMarks(from: DemoShopLoad.classNames) }

    func run() async throws {
        // Concurrent, because a password takes the users service a quarter of a second, and a photo the catalog as
        // much.
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
        try await load("Promotion", named: "content", shop.rows("promotions")) {
            var promotion = DemoShopLoad.members($0, ["content"])
            promotion["shownFrom"] = ["__type": "Date", "iso": "2024-01-01T00:00:00.000Z"]
            return promotion
        }
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
        let photos = DemoPhotos(gateway: loader.gateway)
        let rows = try shop.rows("categories")
        let numbers = Dictionary(rows.enumerated().map { ($1.key, $0) }) { first, _ in first }
        return try await load("Category", named: "title", rows) { row in
            var category = DemoShopLoad.members(row, ["title"])
            category["image"] = try await photos.upload(numbers[row.text("key")] ?? 0)
            return category
        }
    }

    /// The products' objectIds by key. The first products upload the photos for all.
    private func products(_ brands: [String: String]) async throws -> [String: String] {
        let photos = DemoPhotos(gateway: loader.gateway)
        let rows = try shop.rows("products")
        let numbers = Dictionary(rows.enumerated().map { ($1.key, $0) }) { first, _ in first }
        func product(_ row: JSON) throws -> [String: JSON] {
            var product = DemoShopLoad.members(row, ["name", "detail", "unitPrice", "priceUnit", "stock", "tags"])
            product["brand"] = try DemoShopLoad.reference("Category", row.text("brand"), in: brands)
            product["active"] = true
            return product
        }
        let first = Array(rows.prefix(DemoPicture.count))
        let shown = try await load("Product", named: "name", first, label: "Photos") { row in
            let photo = try await photos.upload(numbers[row.text("key")] ?? 0)
            return try product(row).merging(["fullsizeImage": photo]) { _, photo in photo }
        }
        let pictures = try await photos.pictures(of: shown.values.sorted())
        return try await load("Product", named: "name", rows) { row in
            let number = numbers[try row.text("key")] ?? 0
            let id = shown[first[number % first.count].key] ?? ""
            return try product(row).merging(pictures[id] ?? [:]) { _, picture in picture }
        }
    }

    /// Creates the missing rows of one class.
    /// - Parameters:
    ///   - field: the unique field that identifies an object of the class.
    ///   - label: the name in the progress output, if it is not the class.
    ///   - fields: the object's fields for a row; the id is added here.
    /// - Returns: the objectIds by key, of new and of existing objects.
    @discardableResult
    private func load(
        _ className: String, named field: String, _ rows: [(key: String, row: JSON)], label: String? = nil,
        fields: (JSON) async throws -> [String: JSON]
    ) async throws -> [String: String] {
        var progress = Progress(label ?? className, total: rows.count)
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
