import Messages
import ParseProtocol

/// Brands and products.
extension Shop {
    private static let pageSize = 24
    /// Pages of a list; the limit gives robots an end.
    private static let pagesMax = 50
    /// With at most this many pieces, the page says how many are left.
    private static let few: Int64 = 5
    static let active: [String: JSON] = ["active": ["$ne": false]]

    /// Products with the brands that their pointers name. The gateway keeps no response to an `include`, and no page
    /// with one.
    /// - Parameter known: brands that the visit has loaded.
    func branded(
        _ visit: inout ShopVisit, _ products: [JSON], known: [JSON]
    ) throws(ShopStop) -> [JSON] {
        var brands: [String: JSON] = [:]
        for brand in known { brands[brand["objectId"]?.stringValue ?? ""] = brand }
        let named = Set(products.compactMap { $0["brand"]?["objectId"]?.stringValue })
        let missing = named.subtracting(brands.keys).sorted()
        if !missing.isEmpty {
            let condition: JSON = ["objectId": ["$in": .array(missing.map { .string($0) })]]
            let answer = try visit.ask(.find("Category", condition, order: "title", limit: missing.count))[0]
            try require(answer, visit)
            for brand in answer.results { brands[brand["objectId"]?.stringValue ?? ""] = brand }
        }
        return products.map { product in
            guard let id = product["brand"]?["objectId"]?.stringValue, let brand = brands[id] else { return product }
            var product = product
            product["brand"] = brand
            return product
        }
    }

    func brand(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        let found = try visit.ask(.get("classes/Category/\(id.percentEncoded)"))[0]
        try require(found, visit)
        let title = found.json["title"]?.stringValue ?? ""
        let path = ShopView.href("brands", found.json, title)
        try requireCurrent(path, visit)
        let head = ShopHead(
            path: path, description: view(visit).words("brand.description", ["brand": title, "shop": name(visit)]),
            picture: ShopPicture(found.json["image"])?.url(width: ShopHead.pictureWidth),
            things: [ShopHead.breadcrumbs([(name(visit), "/"), (title, path)], visit.request.url)])
        return try products(
            &visit, title: title, path: path, ["brand": .pointer("Category", id)], [:], brands: [found.json],
            hasLetters: true, head: head)
    }

    func search(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let text = String(visit.query("q").prefix(100))
        let words = view(visit).words
        guard !text.isEmpty else { return render("search", visit, title: words("search.title"), [:]) }
        let pattern = Self.containing(text)
        return try products(
            &visit, title: words("search.of", ["q": text]), path: "/search",
            ["$or": [["name": pattern], ["detail": pattern]]], ["q": text])
    }

    private static func containing(_ text: String) -> JSON {
        ["$regex": .string("\\Q\(text.replacing("\\E", with: ""))\\E"), "$options": "i"]
    }

    /// Brands and products for the search field, while the shopper types.
    func suggestions(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let text = String(visit.query("q").prefix(100))
        var found: [JSON] = []
        if text.count >= 2 {
            let pattern = Self.containing(text)
            let named = Self.active.merging(["name": pattern]) { own, _ in own }
            let answers = try visit.ask(
                .find("Category", ["title": pattern], order: "title", limit: 3, keys: "title"),
                .find("Product", .object(named), order: "name", limit: 7, keys: "name"))
            for answer in answers { try require(answer, visit) }
            func entry(_ folder: String, _ object: JSON, _ title: String) -> JSON {
                ["title": .string(title), "href": .string(ShopView.href(folder, object, title))]
            }
            found = answers[0].results.map { entry("brands", $0, $0["title"]?.stringValue ?? "") }
            found += answers[1].results.map { entry("products", $0, $0["name"]?.stringValue ?? "") }
        }
        return document(JSON.object(["suggestions": .array(found)]).serializedText, type: "application/json")
    }

    private static let orders = ["name", "unitPrice", "-unitPrice", "-createdAt"]

    /// The options of lists in the query.
    static let listOptions: Set<String> = ["sort", "min", "max", "stock", "page", "view", "letter"]

    /// A page of a list of products, with the sort order and the filters of the query.
    /// - Parameters:
    ///   - brands: those that the visit has loaded.
    ///   - hasLetters: whether the list by name has sections by letter and their index.
    ///   - head: of the list without options; nil for a list that search engines shall not list.
    private func products(
        _ visit: inout ShopVisit, title: String, path: String, _ condition: [String: JSON], _ kept: [String: String],
        brands: [JSON] = [], hasLetters: Bool = false, head: ShopHead? = nil
    ) throws(ShopStop) -> ShopPage {
        let view = view(visit)
        let order = Self.orders.first { $0 == visit.query("sort") } ?? Self.orders[0]
        let page = min(max(Int(visit.query("page")) ?? 1, 1), Self.pagesMax)
        let hasLetters = hasLetters && order == Self.orders[0]
        let letter = hasLetters ? ShopLetters.all.first { $0 == visit.query("letter") } : nil
        let isList = visit.query("view") == "list"
        var wanted = condition.merging(Self.active) { own, _ in own }
        var price: [String: JSON] = [:]
        if let min = Double(visit.query("min")), min > 0 { price["$gte"] = .double(min) }
        if let max = Double(visit.query("max")), max > 0 { price["$lte"] = .double(max) }
        if !price.isEmpty { wanted["unitPrice"] = .object(price) }
        let onlyStock = visit.query("stock") == "1"
        if onlyStock { wanted["stock"] = ["$gt": 0] }
        if let letter { wanted["name"] = ShopLetters.pattern(letter) }
        let answers = try visit.ask(
            .find(
                "Product", .object(wanted), order: order, limit: Self.pageSize, skip: (page - 1) * Self.pageSize,
                counts: true),
            .companyPages)
        let answer = answers[0]
        try require(answer, visit)
        let found = try branded(&visit, answer.results, known: brands)

        var query = kept
        for (name, value) in [
            ("sort", order == Self.orders[0] ? "" : order), ("min", visit.query("min")), ("max", visit.query("max")),
            ("stock", onlyStock ? "1" : ""), ("view", isList ? "list" : ""), ("letter", letter ?? ""),
        ] where !value.isEmpty { query[name] = value }
        /// The list with other options; an empty one is left out.
        func link(_ changes: [String: String]) -> String {
            let all = query.merging(changes) { _, own in own }.filter { !$0.value.isEmpty }
            return path + all.mapValues { JSON.string($0) }.queryText
        }
        var values: [String: Any] = [
            "heading": title, "path": path, "products": view.firstCards(found).map { ShopValues($0) },
            "count": view.words("products.count", ["n": String(answer.count)]),
            "min": visit.query("min"), "max": visit.query("max"), "onlyStock": onlyStock, "q": query["q"] ?? "",
            "sorts": Self.orders.map { name -> [String: Any] in
                ["value": name, "title": view.words("sort.\(name)"), "selected": name == order]
            },
            "asList": isList, "gridHref": link(["view": ""]), "listHref": link(["view": "list"]),
            "companyPages": view.companyLinks(answers[1]),
        ]
        values["isEmpty"] = found.isEmpty
        values["isSearch"] = query["q"] != nil
        values["hasLetters"] = hasLetters
        if hasLetters {
            let isWhole = letter == nil && answer.count <= Self.pageSize
            values["sections"] = ShopLetters.sections(found, view)
            values["letters"] = ShopLetters.index(isWhole ? found : nil, current: letter) {
                link(["letter": $0])
            }
            if let letter {
                values["letter"] = letter
                values["allHref"] = link(["letter": ""])
            }
        }
        if page > 1 { values["previous"] = link(["page": page > 2 ? String(page - 1) : ""]) }
        if page * Self.pageSize < answer.count, page < Self.pagesMax {
            values["following"] = link(["page": String(page + 1)])
        }
        var head = head
        head?.isListed = query.isEmpty && page == 1
        return render("products", visit, title: title, values, head: head)
    }

    func product(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        let answers = try visit.ask(3) {
            [
                .get("classes/Product/\(id.percentEncoded)"),
                .find("ProductReview", ["product": .pointer("Product", id)], order: "-createdAt", limit: 10),
                .companyPages,
            ]
        }
        try require(answers[0], visit)
        var product = answers[0].json
        guard product["active"] != false else { throw .page(missing(visit)) }
        let name = product["name"]?.stringValue ?? ""
        let path = ShopView.href("products", product, name)
        try requireCurrent(path, visit)
        let others = try similar(&visit, to: &product)
        let view = view(visit)
        var values = view.card(product)
        values["detail"] = product["detail"]?.stringValue ?? ""
        if let picture = ShopPicture(product["fullsizeImage"]) ?? ShopPicture(product["thumbnail"]) {
            values.merge(picture.values(upTo: 1920)) { $1 }
            values["small"] = picture.url(width: 320)
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
        values["companyPages"] = view.companyLinks(answers[2])
        values["recentId"] = id
        values["recentHref"] = path
        values["hasSimilar"] = !others.isEmpty
        values["similar"] = ShopValues(["products": others.map { ShopValues($0) }])
        return render(
            "product", visit, title: name, values, head: head(of: product, path, view, visit))
    }

    /// Other products of the brand, which replaces its pointer.
    private func similar(_ visit: inout ShopVisit, to product: inout JSON) throws(ShopStop) -> [[String: Any]] {
        guard let brand = product["brand"]?["objectId"]?.stringValue, let id = product["objectId"] else { return [] }
        let answers = try visit.ask(2) {
            var condition = Self.active
            condition["brand"] = .pointer("Category", brand)
            condition["objectId"] = ["$ne": id]
            return [
                .find("Product", .object(condition), order: "name", limit: 4),
                .get("classes/Category/\(brand.percentEncoded)"),
            ]
        }
        // A deleted brand is not shown.
        if answers[1].code != 101 { try require(answers[1], visit) }
        product["brand"] = answers[1].isSuccess ? answers[1].json : nil
        let view = view(visit)
        // Mustache would look up a missing value of a card in the values of the page's own product.
        let none: [String: Any] = [
            "picture": false, "srcset": false, "brand": false, "rating": false, "soldOut": false, "favorite": false,
            "asList": false, "eager": false,
        ]
        return answers[0].results.map { none.merging(view.card($0)) { _, own in own } }
    }

    private func head(of product: JSON, _ path: String, _ view: ShopView, _ visit: ShopVisit) -> ShopHead {
        let origin = visit.request.url
        let name = product["name"]?.stringValue ?? ""
        let picture = ShopPicture(product["fullsizeImage"]) ?? ShopPicture(product["thumbnail"])
        var steps = [(self.name(visit), "/")]
        if let brand = product["brand"], let title = brand["title"]?.stringValue {
            steps.append((title, ShopView.href("brands", brand, title)))
        }
        steps.append((name, path))
        return ShopHead(
            path: path, description: ShopHead.excerpt(product["detail"]?.stringValue ?? name),
            picture: picture?.url(width: ShopHead.pictureWidth), type: "product",
            things: [
                view.thing(product, path: path, picture: picture?.url, origin),
                ShopHead.breadcrumbs(steps.map { (name: $0.0, path: $0.1) }, origin),
            ])
    }
}
