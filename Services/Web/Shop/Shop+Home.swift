import Messages
import ParseProtocol

/// The home page and the promotions.
extension Shop {
    private static let brandsMax = 100
    private static let productsMax = 12
    private static let promotionsMax = 6

    func home(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        // The address in a push message.
        let promotion = visit.query("p")
        guard promotion.isEmpty else { return redirect("/promotions/\(promotion.percentEncoded)") }
        let wanted = visit.theme.sections
        let answers = try visit.ask(all: wanted.map(Self.ask) + [ShopAsk.companyPages])
        // A shop may keep its promotions to itself.
        for (section, answer) in zip(wanted, answers) where section != .promotions { try require(answer, visit) }
        // The products of all sections with their brands, which are asked for at once.
        let known = zip(wanted, answers).first { $0.0 == .brands }?.1.results ?? []
        let shown = zip(wanted, answers).map { $0 == .new || $0 == .best ? $1.results : [] }
        var products = try branded(&visit, shown.flatMap { $0 }, known: known)[...]
        let view = view(visit)
        var isFirst = true
        let sections = zip(wanted, answers).compactMap { section, answer -> [String: Any]? in
            // Brands and new products are what a shop has: their headings stay when there are none yet.
            let isOptional = section == .promotions || section == .best
            guard !isOptional || !answer.results.isEmpty else { return nil }
            var values: [String: Any] = [
                "section": section.rawValue, "heading": view.words("home.\(section.rawValue)"),
                "hasPromotions": false, "hasBrands": false, "hasProducts": false,
            ]
            let entries: [[String: Any]]
            let kind: String
            switch section {
            case .promotions: (kind, entries) = ("Promotions", answer.results.map(view.promotion))
            case .brands: (kind, entries) = ("Brands", answer.results.map(view.brand))
            case .new, .best:
                (kind, entries) = ("Products", products.prefix(answer.results.count).map(view.card))
                products = products.dropFirst(answer.results.count)
            }
            values["has\(kind)"] = true
            values[kind.lowercased()] = isFirst ? ShopView.eager(entries) : entries
            isFirst = false
            return values
        }
        return render(
            "home", visit, title: view.words("home.title"),
            ["sections": sections, "companyPages": view.companyLinks(answers[wanted.count])],
            head: ShopHead(path: "/", description: view.words("home.description", ["shop": name(visit)])))
    }

    private static func ask(_ section: ShopTheme.Section) -> ShopAsk {
        switch section {
        case .promotions:
            // Whole minutes, so that the queries of a minute are the same.
            let moment = Timestamp(milliseconds: Timestamp.now.milliseconds / 60_000 * 60_000)
            let now: JSON = ["__type": "Date", "iso": .string(moment.iso)]
            let condition: JSON = [
                "shownFrom": ["$lte": now],
                "$or": [["shownUntil": ["$gt": now]], ["shownUntil": ["$exists": false]]],
            ]
            return .find(
                "Promotion", condition, order: "-shownFrom", limit: promotionsMax, keys: "content,image,thumbnail")
        case .brands: return .find("Category", order: "title", limit: brandsMax)
        case .new:
            return .find("Product", .object(active), order: "-createdAt", limit: productsMax)
        case .best:
            let rated = active.merging(["ratingCount": ["$gt": 0]]) { own, _ in own }
            return .find("Product", .object(rated), order: "-ratingAverage,-ratingCount", limit: productsMax)
        }
    }

    /// The page of a promotion, whose id is the `p` of its push message.
    func promotion(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        let answer = try visit.ask(.get("classes/Promotion/\(id.percentEncoded)"))[0]
        try require(answer, visit)
        let promotion = answer.json
        let now = Timestamp.now
        guard (Self.moment(promotion["shownFrom"]) ?? now) <= now else { throw .page(missing(visit)) }
        let view = view(visit)
        let content = promotion["content"]?.stringValue ?? ""
        let hasEnded = Self.moment(promotion["shownUntil"]).map { $0 <= now } ?? false
        var values: [String: Any] = ["content": content, "ended": hasEnded]
        values.merge(ShopView.picture(promotion["image"], upTo: 1920)) { $1 }
        if !hasEnded, let code = promotion["discountCode"]?.stringValue, !code.isEmpty { values["code"] = code }
        let goal = try goal(of: promotion, &visit)
        values["goal"] = goal.path
        values["goalTitle"] = goal.title
        let head = ShopHead(
            path: "/promotions/\(id.percentEncoded)", description: ShopHead.excerpt(content),
            picture: ShopPicture(promotion["image"])?.url(width: ShopHead.pictureWidth), isListed: false)
        return render("promotion", visit, title: view.words("promotion.title"), values, head: head)
    }

    /// The page to which a promotion leads: its product, its brand, or the shop. The gateway keeps no page with an
    /// `include`.
    private func goal(of promotion: JSON, _ visit: inout ShopVisit) throws(ShopStop) -> (path: String, title: String) {
        if let id = promotion["product"]?["objectId"]?.stringValue {
            let product = try visit.ask(.get("classes/Product/\(id.percentEncoded)"))[0].json
            if let name = product["name"]?.stringValue, product["active"] != false {
                return (ShopView.href("products", product, name), name)
            }
        }
        if let id = promotion["brand"]?["objectId"]?.stringValue {
            let brand = try visit.ask(.get("classes/Category/\(id.percentEncoded)"))[0].json
            if let title = brand["title"]?.stringValue { return (ShopView.href("brands", brand, title), title) }
        }
        return ("/", view(visit).words("promotion.shop"))
    }

    private static func moment(_ date: JSON?) -> Timestamp? { date?["iso"]?.stringValue.flatMap { Timestamp(iso: $0) } }
}

extension ShopView {
    /// A brand as in lists.
    func brand(_ brand: JSON) -> [String: Any] {
        let title = brand["title"]?.stringValue ?? ""
        var values: [String: Any] = ["title": title, "href": Self.href("brands", brand, title)]
        values.merge(Self.picture(brand["image"], upTo: 320)) { $1 }
        return values
    }

    /// A promotion as on the home page.
    func promotion(_ promotion: JSON) -> [String: Any] {
        let id = promotion["objectId"]?.stringValue ?? ""
        var values: [String: Any] = [
            "href": "/?p=\(id.percentEncoded)", "text": ShopHead.excerpt(promotion["content"]?.stringValue ?? ""),
        ]
        values.merge(Self.picture(promotion["image"] ?? promotion["thumbnail"], upTo: 960)) { $1 }
        return values
    }
}
