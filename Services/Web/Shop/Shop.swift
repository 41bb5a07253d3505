import Foundation
import Messages
import ParseProtocol
import ProcessKit

/// The storefront: decides the next step of each page (`ShopVisit`) and renders it. Without I/O; its only state saves
/// time.
package struct Shop: Sendable {
    let templates: ShopTemplates
    let languages: ShopLanguages
    let shopName: String
    let currency: Currency
    let zone: ShopZone
    /// Whether cards are Stripe's test cards of the embedded sandbox.
    let isSandbox: Bool
    /// The publishable key of Stripe's card form; nil when the shop does not have it.
    let stripeKey: String?
    /// The tiles of the map of stores; nil for no map.
    let tiles: MapTiles?
    /// The folder of the storefront's files: `/shop/assets/<digest>`.
    let assets: String
    private let lastTheme = LastTheme()

    /// - Parameters:
    ///   - root: the folder with the templates and, in `texts`, the texts of each language.
    ///   - own: a folder with files that replace these (`SATCHEL_STOREFRONT_FILES`); nil for none.
    /// - Throws: `StartupProblem`.
    package init(
        reading root: URL, replacements own: String? = nil, shopName: String, currency: Currency, zone: ShopZone,
        isSandbox: Bool, stripeKey: String? = nil, tiles: MapTiles? = nil, assets: String
    ) throws {
        let files = try own.map(ShopFiles.init(reading:))
        languages = try ShopLanguages(reading: root.appendingPathComponent("texts"), replacements: files)
        templates = try ShopTemplates(reading: root, replacements: files, languages, assets: assets)
        self.shopName = shopName
        self.currency = currency
        self.zone = zone
        self.isSandbox = isSandbox
        self.stripeKey = stripeKey
        self.tiles = tiles.flatMap { $0.origin == nil ? nil : $0 }
        self.assets = assets
    }

    package func reply(to request: ShopRequest) -> ShopReply {
        var visit = ShopVisit(request, lastTheme.theme(request.theme))
        do throws(ShopStop) {
            let page = try request.refusal == 0 ? page(&visit) : refusal(visit)
            return .with { $0.page = page }
        } catch {
            switch error {
            case .asks(let asks): return .with { $0.asks = .with { $0.asks = asks } }
            case .page(let page): return .with { $0.page = page }
            }
        }
    }

    private func page(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let path = visit.request.path
        let last = path.count > 1 ? path[1] : ""
        switch (visit.request.method, path.first ?? "", path.count) {
        case ("GET", "", 0): return try home(&visit)
        case ("GET", "brands", 2): return try brand(&visit, ShopView.id(in: last))
        case ("GET", "search", 1): return try search(&visit)
        case ("GET", "search", 2) where last == "suggestions": return try suggestions(&visit)
        case ("GET", "products", 2): return try product(&visit, ShopView.id(in: last))
        case (_, "products", 3): return try productPage(&visit)
        case ("POST", "favorites", 1): return try changeFavorite(&visit)
        case ("GET", "favorites", 1): return try favorites(&visit)
        case ("GET", "stores", 1): return try stores(&visit)
        case ("GET", "promotions", 2): return try promotion(&visit, last)
        case ("GET", "pages", 1): return try companyPages(&visit)
        case ("GET", "pages", 2): return try companyPage(&visit, last)
        case ("GET", "offline", 1): return offline(visit)
        case ("GET", "theme", 2): return try styles(visit, last)
        case ("GET", "manifest.webmanifest", 1): return manifest(visit)
        case ("GET", "robots.txt", 1): return robots(visit)
        case ("GET", "sitemap.xml", 1): return try sitemapIndex(&visit)
        case ("GET", "sitemaps", 2): return try sitemap(&visit, last)
        case ("GET", "bag", 1): return try bag(&visit)
        case ("POST", "bag", 1): return try changeBag(&visit)
        case ("POST", "bag", 2) where last == "code": return try changeCode(&visit)
        case ("GET", "checkout", 1): return try checkout(&visit)
        case ("POST", "checkout", 1): return try pay(&visit)
        case ("GET", "checkout", 2) where last == "return": return try checkoutReturn(&visit)
        case ("POST", "checkout", 2) where last == "return": return try changeReturn(&visit)
        case ("GET", "orders", 2): return try order(&visit, last)
        case ("POST", "orders", 3) where path[2] == "cancel": return try cancel(&visit, last)
        case ("POST", "orders", 3) where path[2] == "again": return try orderAgain(&visit, last)
        case ("GET", "account", 1): return try account(&visit)
        case (_, "account", 2...): return try accountPage(&visit)
        case ("GET", "sign-up", 1), ("GET", "log-in", 1): return try entry(&visit)
        case ("POST", "sign-up", 1): return try signUp(&visit)
        case ("POST", "log-in", 1): return try logIn(&visit)
        case ("GET", "log-in", 2) where last == "code": return code(visit)
        case ("POST", "log-in", 2) where last == "code": return try sendCode(&visit)
        case ("GET", "log-in", 2): return try beginWebSignIn(&visit, last)
        case ("GET", "log-in", 3) where path[2] == "back": return try endWebSignIn(&visit, last)
        case ("POST", "log-out", 1): return try logOut(&visit)
        case ("GET", "badge", 1): return try badge(&visit)
        default: throw .page(missing(visit))
        }
    }

    // MARK: - Rendering

    func view(_ visit: ShopVisit) -> ShopView {
        ShopView(words: words(visit), currency: currency, zone: zone)
    }

    /// The texts in the language of the theme, or else of the browser.
    func words(_ visit: ShopVisit) -> ShopWords {
        languages.words(for: visit.theme.language ?? visit.request.languages)
    }

    /// The shop's name.
    func name(_ visit: ShopVisit) -> String { visit.theme.name ?? shopName }

    /// - Parameters:
    ///   - title: of the page, before the shop's name.
    ///   - personal: whether the page depends on the session.
    ///   - head: for search engines and other sites; nil for a page that they shall not list.
    func render(
        _ template: String, _ visit: ShopVisit, title: String, _ values: [String: Any], status: Int = 200,
        personal: Bool = false, head: ShopHead? = nil
    ) -> ShopPage {
        let words = words(visit)
        var all = values.merging(look(visit)) { own, _ in own }
        all["t"] = words.tree
        all["language"] = words.language
        all["shop"] = name(visit)
        all["pageTitle"] = title
        all["assets"] = assets
        if all["q"] == nil { all["q"] = "" }
        all["linksPages"] = all["companyPages"] == nil
        let request = visit.request
        if !request.livePath.isEmpty {
            all["live"] = ShopValues([
                "path": request.livePath, "application": request.applicationID, "key": request.clientKey,
            ])
        }
        if let head { all["head"] = ShopValues(head.values(visit.request.url)) }
        return .with {
            $0.status = UInt32(status)
            $0.html = templates.html(template, all, in: words.language)
            $0.personal = personal
        }
    }

    /// The page after a form was sent.
    func redirect(_ path: String) -> ShopPage {
        .with {
            $0.status = 303
            $0.location = path
            $0.personal = true
        }
    }

    /// The page of a form that has a problem. The browser gets it by a GET, so that neither Back nor Reload sends the
    /// form again.
    func again(_ path: String, _ form: ShopForm) -> ShopPage {
        var page = redirect(path)
        page.kept = form.kept
        return page
    }

    func again(_ path: String, problem: String) -> ShopPage {
        var form = ShopForm()
        form.problem = problem
        return again(path, form)
    }

    /// The page that says why the gateway has refused a request.
    private func refusal(_ visit: ShopVisit) -> ShopPage {
        let words = languages.words(for: visit.request.languages)
        let status = Int(visit.request.refusal)
        if status == 404 { return missing(visit) }
        let text = words([403, 413, 429].contains(status) ? "refused.\(status)" : "problem.text")
        return problem(visit, words("problem.title"), text, status: status)
    }

    /// A result for scripts and programs.
    func document(_ text: String, type: String) -> ShopPage {
        .with {
            $0.status = 200
            $0.html = text
            $0.contentType = "\(type); charset=utf-8"
        }
    }

    func missing(_ visit: ShopVisit) -> ShopPage {
        let words = words(visit)
        return problem(visit, words("missing.title"), words("missing.text"), status: 404)
    }

    func problem(_ visit: ShopVisit, _ title: String, _ text: String, status: Int) -> ShopPage {
        render("problem", visit, title: title, ["heading": title, "text": text], status: status, personal: true)
    }

    /// Ends the page when a request was refused that it cannot do without.
    func require(_ answer: ShopAnswer, _ visit: ShopVisit) throws(ShopStop) {
        guard let code = answer.code else { return }
        if code == 101 { throw .page(missing(visit)) }
        let words = words(visit)
        // An error of the server has no text for shoppers.
        let isOurs = answer.status >= 500 || code == 1 || code == 2
        throw .page(
            problem(
                visit, words("problem.title"), isOurs ? words("problem.text") : answer.message,
                status: answer.status == 429 || answer.status >= 500 ? answer.status : 400))
    }
}
