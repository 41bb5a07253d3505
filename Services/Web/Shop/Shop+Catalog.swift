import Messages
import ParseProtocol

/// Brands, products and stores.
extension Shop {
    private static let pageSize = 24
    /// The objects of a query that may be skipped, so that robots find an end.
    private static let pagesMax = 50
    /// Pieces from which on the page says how many are left.
    private static let few: Int64 = 5
    private static let active: [String: JSON] = ["active": ["$ne": false]]

    func home(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let answers = try visit.ask(
            .find("Category", order: "title", limit: 100),
            .find("Product", .object(Self.active), order: "-createdAt", limit: 12, include: "brand"))
        for answer in answers { try require(answer, visit) }
        let view = view(visit)
        let brands = answers[0].results.map { brand -> [String: Any] in
            let title = brand["title"]?.stringValue ?? ""
            var values: [String: Any] = ["title": title, "href": ShopView.href("brands", brand, title)]
            if let picture = ShopView.picture(brand["image"]) { values["picture"] = picture }
            return values
        }
        return render(
            "home", visit, title: view.words("home.title"),
            ["brands": brands, "products": answers[1].results.map(view.card)])
    }

    func brand(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        let found = try visit.ask(.get("classes/Category/\(id.percentEncoded)"))[0]
        try require(found, visit)
        let title = found.json["title"]?.stringValue ?? ""
        return try products(
            &visit, title: title, path: ShopView.href("brands", found.json, title),
            ["brand": .pointer("Category", id)], [:])
    }

    func search(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let text = String(visit.query("q").prefix(100))
        let words = view(visit).words
        guard !text.isEmpty else { return render("search", visit, title: words("search.title"), [:]) }
        let pattern: JSON = ["$regex": .string("\\Q\(text.replacing("\\E", with: ""))\\E"), "$options": "i"]
        return try products(
            &visit, title: words("search.of", ["q": text]), path: "/search",
            ["$or": [["name": pattern], ["detail": pattern]]], ["q": text])
    }

    private static let orders = ["name", "unitPrice", "-unitPrice", "-createdAt"]

    /// A page of a list of products, with the sort order and the filters of the query.
    private func products(
        _ visit: inout ShopVisit, title: String, path: String, _ condition: [String: JSON], _ kept: [String: String]
    ) throws(ShopStop) -> ShopPage {
        let view = view(visit)
        let order = Self.orders.first { $0 == visit.query("sort") } ?? Self.orders[0]
        let page = min(max(Int(visit.query("page")) ?? 1, 1), Self.pagesMax)
        var wanted = condition.merging(Self.active) { own, _ in own }
        var price: [String: JSON] = [:]
        if let min = Double(visit.query("min")), min > 0 { price["$gte"] = .double(min) }
        if let max = Double(visit.query("max")), max > 0 { price["$lte"] = .double(max) }
        if !price.isEmpty { wanted["unitPrice"] = .object(price) }
        let onlyStock = visit.query("stock") == "1"
        if onlyStock { wanted["stock"] = ["$gt": 0] }
        let answer = try visit.ask(
            .find(
                "Product", .object(wanted), order: order, limit: Self.pageSize, skip: (page - 1) * Self.pageSize,
                counts: true, include: "brand"))[0]
        try require(answer, visit)

        var query = kept
        for (name, value) in [
            ("sort", order == Self.orders[0] ? "" : order), ("min", visit.query("min")), ("max", visit.query("max")),
            ("stock", onlyStock ? "1" : ""),
        ] where !value.isEmpty { query[name] = value }
        func link(_ page: Int) -> String {
            let all = query.merging(page > 1 ? ["page": String(page)] : [:]) { own, _ in own }
            return path + all.mapValues { JSON.string($0) }.queryText
        }
        var values: [String: Any] = [
            "heading": title, "path": path, "products": answer.results.map(view.card),
            "count": view.words("products.count", ["n": String(answer.count)]),
            "min": visit.query("min"), "max": visit.query("max"), "onlyStock": onlyStock, "q": query["q"] ?? "",
            "sorts": Self.orders.map { name -> [String: Any] in
                ["value": name, "title": view.words("sort.\(name)"), "selected": name == order]
            },
        ]
        values["isEmpty"] = answer.results.isEmpty
        values["isSearch"] = query["q"] != nil
        if page > 1 { values["previous"] = link(page - 1) }
        if page * Self.pageSize < answer.count, page < Self.pagesMax { values["following"] = link(page + 1) }
        return render("products", visit, title: title, values)
    }

    func product(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        let answers = try visit.ask(
            .get("classes/Product/\(id.percentEncoded)", ["include": "brand"]),
            .find("ProductReview", ["product": .pointer("Product", id)], order: "-createdAt", limit: 10))
        try require(answers[0], visit)
        let product = answers[0].json
        guard product["active"] != false else { throw .page(missing(visit)) }
        let view = view(visit)
        var values = view.card(product)
        values["detail"] = product["detail"]?.stringValue ?? ""
        if let picture = ShopView.picture(product["fullsizeImage"]) ?? ShopView.picture(product["thumbnail"]) {
            values["picture"] = picture
        }
        if let brand = product["brand"], let title = brand["title"]?.stringValue {
            values["brandHref"] = ShopView.href("brands", brand, title)
        }
        if let stock = product["stock"]?.intValue {
            let text = stock <= 0 ? "stock.none" : stock <= Self.few ? "stock.few" : "stock.some"
            values["stock"] = view.words(text, ["n": String(stock)])
        }
        values["reviews"] = answers[1].results.map { review -> [String: Any] in
            let author = review["authorName"]?.stringValue ?? view.words("review.nobody")
            return [
                "author": author, "reviewId": review["objectId"]?.stringValue ?? "",
                "reportLabel": view.words("reviews.reportLabel", ["name": author]),
                "content": review["content"]?.stringValue ?? "",
                "stars": String(repeating: "★", count: min(5, max(0, Int(review["rating"]?.intValue ?? 0)))),
                "starsLabel": view.words("review.stars", ["n": String(review["rating"]?.intValue ?? 0)]),
                "date": view.date(review["createdAt"]),
            ]
        }
        values["hasReviews"] = !answers[1].results.isEmpty
        return render("product", visit, title: product["name"]?.stringValue ?? "", values)
    }

    func stores(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let view = view(visit)
        let text = String(visit.query("q").prefix(100))
        let pattern: JSON = ["$regex": .string("^\\Q\(text.replacing("\\E", with: ""))\\E"), "$options": "i"]
        let condition: JSON = text.isEmpty ? [:] : ["$or": [["city": pattern], ["zipcode": pattern]]]
        let answer = try visit.ask(.find("Store", condition, order: "city,name", limit: 100))[0]
        try require(answer, visit)
        let stores = answer.results.map { store -> [String: Any] in
            var values: [String: Any] = [:]
            for name in ["name", "address", "city", "zipcode", "hours"] {
                values[name] = store[name]?.stringValue ?? ""
            }
            return values
        }
        return render(
            "stores", visit, title: view.words("stores.title"),
            ["stores": stores, "isEmpty": stores.isEmpty, "place": text])
    }

    /// The page of a promotion, whose id is the `p` of its push message.
    func promotion(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        let answer = try visit.ask(.get("classes/Promotion/\(id.percentEncoded)"))[0]
        try require(answer, visit)
        var values: [String: Any] = ["content": answer.json["content"]?.stringValue ?? ""]
        if let picture = ShopView.picture(answer.json["image"]) { values["picture"] = picture }
        if let code = answer.json["discountCode"]?.stringValue, !code.isEmpty { values["code"] = code }
        return render("promotion", visit, title: view(visit).words("promotion.title"), values)
    }
}
