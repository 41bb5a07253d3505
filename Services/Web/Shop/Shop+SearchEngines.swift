import Messages
import ParseProtocol

/// The files for search engines and browsers.
extension Shop {
    /// URLs of a site map's file; the protocol allows 50,000.
    private static let fileMax = 10_000
    private static let filesMax = 50
    /// Objects of one request: the standard limit of `limit`.
    private static let requestMax = 1000
    /// Paths that show nothing to search engines.
    private static let closed = [
        "account", "badge", "bag", "checkout", "favorites", "log-in", "offline", "orders", "search", "sign-up",
    ]

    /// Ends the page when its address is not the object's current one, for example with its former name.
    func requireCurrent(_ path: String, _ visit: ShopVisit) throws(ShopStop) {
        guard "/" + visit.request.path.map(\.percentEncoded).joined(separator: "/") != path else { return }
        // Only the names of this shop: a name is not encoded.
        let kept = visit.request.query.filter { Self.listOptions.contains($0.key) }
        let location = path + kept.mapValues { JSON.string($0) }.queryText
        throw .page(
            .with {
                $0.status = 301
                $0.location = location
            })
    }

    func robots(_ visit: ShopVisit) -> ShopPage {
        var lines = ["User-agent: *"] + Self.closed.map { "Disallow: /\($0)" }
        if !visit.request.url.isEmpty { lines += ["Sitemap: \(visit.request.url)/sitemap.xml"] }
        return document(lines.joined(separator: "\n") + "\n", type: "text/plain")
    }

    /// The files of the site map: one for brands and company pages, and one for every 10,000 products.
    func sitemapIndex(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let answer = try visit.ask(.find("Product", .object(Self.active), order: "", limit: 0, counts: true))[0]
        try require(answer, visit)
        let count = min((answer.count + Self.fileMax - 1) / Self.fileMax, Self.filesMax)
        let names = ["brands"] + (0..<max(count, 0)).map { "products-\($0 + 1)" }
        let entries = names.map { "<sitemap><loc>\(visit.request.url)/sitemaps/\($0).xml</loc></sitemap>" }
        return siteMap("sitemapindex", entries)
    }

    func sitemap(_ visit: inout ShopVisit, _ file: String) throws(ShopStop) -> ShopPage {
        if file == "brands.xml" { return try brandMap(&visit) }
        guard file.hasPrefix("products-"), file.hasSuffix(".xml"),
            let number = Int(file.dropFirst("products-".count).dropLast(".xml".count)),
            (1...Self.filesMax).contains(number)
        else { throw .page(missing(visit)) }
        let start = (number - 1) * Self.fileMax
        let asks = stride(from: start, to: start + Self.fileMax, by: Self.requestMax).map { skip in
            ShopAsk.find(
                "Product", .object(Self.active), order: "", limit: Self.requestMax, skip: skip, keys: "name")
        }
        let answers = try visit.ask(all: asks)
        for answer in answers { try require(answer, visit) }
        let products = answers.flatMap(\.results)
        guard !products.isEmpty else { throw .page(missing(visit)) }
        let origin = visit.request.url
        let entries = products.map {
            Self.entry(origin, ShopView.href("products", $0, $0["name"]?.stringValue ?? ""), $0)
        }
        return siteMap("urlset", entries)
    }

    private func brandMap(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let answers = try visit.ask(
            .find("Category", order: "title", limit: Self.requestMax, keys: "title"), .companyPages)
        try require(answers[0], visit)
        let origin = visit.request.url
        let brands = answers[0].results.map {
            Self.entry(origin, ShopView.href("brands", $0, $0["title"]?.stringValue ?? ""), $0)
        }
        let pages = answers[1].results.map {
            Self.entry(origin, "/pages/" + ($0["name"]?.stringValue ?? "").percentEncoded, $0)
        }
        let own = ["/", "/stores"].map { "<url><loc>\(origin)\($0)</loc></url>" }
        return siteMap("urlset", own + brands + pages)
    }

    private static func entry(_ origin: String, _ path: String, _ object: JSON) -> String {
        let changed = object["updatedAt"]?.stringValue.flatMap { Timestamp(iso: $0)?.iso }
        return "<url><loc>\(origin)\(path)</loc>" + (changed.map { "<lastmod>\($0)</lastmod>" } ?? "") + "</url>"
    }

    private func siteMap(_ element: String, _ entries: [String]) -> ShopPage {
        document(
            #"<?xml version="1.0" encoding="UTF-8"?>"# + "\n"
                + #"<\#(element) xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">"# + "\n"
                + entries.joined(separator: "\n") + "\n</\(element)>\n", type: "application/xml")
    }

    /// The page that the browser's worker shows without a network.
    func offline(_ visit: ShopVisit) -> ShopPage {
        render("offline", visit, title: view(visit).words("offline.title"), [:])
    }
}
