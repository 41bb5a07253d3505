import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Pages of the storefront that the gateway keeps equal what `web` would render at this moment, and have nothing of a
/// shopper.
@Suite struct PageCacheTests {
    /// The current path of a product's page.
    private static func path(of product: String, _ browser: Browser) async throws -> String {
        try #require(try await browser.get("/products/x-\(product)").location)
    }

    /// Repeats a request until its page would be kept, and returns the last one.
    @discardableResult
    private static func read(_ browser: Browser, _ path: String) async throws -> Browser.Page {
        for _ in 0..<3 { _ = try await browser.get(path) }
        return try await browser.get(path)
    }

    private static func counts(_ suite: Suite) async throws -> (hits: Int64, misses: Int64) {
        let cache = try #require(try await ParseClient.master(suite).get("/serverInfo")["readCache"])
        return (cache["hits"]?.intValue ?? -1, cache["misses"]?.intValue ?? -1)
    }

    private static func permit(_ suite: Suite, _ className: String, _ action: String, _ right: JSON) async throws {
        let master = ParseClient.master(suite)
        let before = try await master.get("/schemas/\(className)")["classLevelPermissions"]
        var permissions = try #require(before)
        permissions[action] = right
        let answer = try await master.call(.PUT, "/schemas/\(className)", ["classLevelPermissions": permissions])
        try #require(answer.status == 200, "\(answer.text)")
    }

    private static func change(_ suite: Suite, _ object: String, _ fields: JSON) async throws {
        let answer = try await ParseClient.master(suite).call(.PUT, "/classes/\(object)", fields)
        try #require(answer.status == 200, "\(answer.text)")
    }

    // MARK: Kept pages

    @Test func aKeptPageIsAnsweredWithoutAService() async throws {
        try await Suite.with { suite in
            let shelf = try await Shelf.fill(suite, names: ["Balm", "Serum"])
            let browser = Browser(suite)
            let product = try await Self.path(of: shelf.productIds[0], browser)
            let brand = try #require(try await browser.get("/brands/x-\(shelf.brandId)").location)
            for path in ["/", product, brand, "\(brand)?sort=-unitPrice", "/search?q=balm", "/stores", "/pages"] {
                let first = try await Self.read(browser, path)
                #expect(first.status == 200)
                let before = try await Self.counts(suite)
                let kept = try await browser.get(path)
                let tag = try #require(kept.headers.first(name: "ETag"), "\(path)")
                let known = try await browser.get(path, headers: [("If-None-Match", tag)])
                let after = try await Self.counts(suite)
                #expect(after.hits == before.hits + 2, "\(path): \(before) \(after)")
                #expect(after.misses == before.misses, "\(path)")
                #expect(kept.html == first.html)
                #expect(known.status == 304 && known.html.isEmpty)
                // The part of the path decides, and no parameter that pages do not have.
                let tracked = try await browser.get(path + (path.contains("?") ? "&" : "?") + "utm_source=mail")
                #expect(tracked.html == kept.html)
                #expect(try await Self.counts(suite).hits == after.hits + 1, "\(path)")
            }
            // A page that is made first counts as one look-up, besides those of its reads.
            let before = try await Self.counts(suite)
            _ = try await browser.get("/search?q=nothing")
            _ = try await browser.get("/search?q=nothing")
            let after = try await Self.counts(suite)
            #expect(after.hits + after.misses <= before.hits + before.misses + 5, "\(before) \(after)")
        }
    }

    @Test func everyChangeIsShownAtOnce() async throws {
        try await Suite.with { suite in
            let master = ParseClient.master(suite)
            let word = Names.random(10)
            let shelf = try await Shelf.fill(suite, names: ["Balm \(word)", "Other"])
            let browser = Browser(suite)
            let product = "Product/\(shelf.productIds[0])"
            let path = try await Self.path(of: shelf.productIds[0], browser)
            let brand = try #require(try await browser.get("/brands/x-\(shelf.brandId)").location)
            func pages() async throws -> [Browser.Page] {
                var pages: [Browser.Page] = []
                for path in ["/", path, brand, "/search?q=\(word)"] { pages.append(try await browser.get(path)) }
                return pages
            }
            func keep() async throws { for _ in 0..<3 { _ = try await pages() } }

            for price in [41, 42, 43] as [Int64] {
                try await keep()
                try await Self.change(suite, product, ["unitPrice": .int(price)])
                for page in try await pages() { #expect(page.html.contains("$\(price).00"), "\(page.html)") }
            }
            try await keep()
            try await Self.change(suite, "Category/\(shelf.brandId)", ["title": "House of Balm"])
            for page in try await [pages()[0], pages()[1], pages()[3], browser.open(brand)] {
                #expect(page.html.contains("House of Balm"), "\(page.html)")
            }
            try await keep()
            let ann = try await Customer.signUp(suite)
            let review = try await ann.client.create(
                "ProductReview",
                ["product": .pointer("Product", shelf.productIds[0]), "rating": 4, "content": "Smells of roses."])
            try #require(review.status == 201, "\(review.text)")
            #expect(try await browser.get(path).html.contains("Smells of roses."))
            try await keep()
            let made = try await master.create("Page", ["name": "about", "title": "About roses", "content": "Roses."])
            try #require(made.status == 201, "\(made.text)")
            for page in try await pages() where page.status == 200 {
                #expect(page.html.contains("About roses"), "\(page.html)")
            }

            try await keep()
            try await Self.permit(suite, "Product", "get", [:])
            #expect(try await browser.get(path).status != 200)
            try await Self.permit(suite, "Product", "get", ["*": true])
            #expect(try await browser.get(path).status == 200)
            try await keep()
            try await Self.change(suite, product, ["ACL": [:]])
            #expect(try await browser.get(path).status == 404)
            #expect(try await browser.get("/search?q=\(word)").html.contains("0 products"))
            try await Self.change(suite, product, ["ACL": ["*": ["read": true]]])
            try await keep()
            #expect(try await browser.get(path).status == 200)
            try await Self.change(suite, product, ["active": false])
            #expect(try await browser.get(path).status == 404)
            let other = try await Self.path(of: shelf.productIds[1], browser)
            try await Self.read(browser, other)
            let deleted = try await master.call(.DELETE, "/classes/Product/\(shelf.productIds[1])")
            try #require(deleted.status == 200, "\(deleted.text)")
            #expect(try await browser.get(other).status == 404)
            #expect(try await browser.open(brand).html.contains("0 products"))
        }
    }

    @Test func aTriggerHasItsSayFromItsDeclarationOn() async throws {
        try await Suite.with { suite in
            let shelf = try await Shelf.fill(suite, names: ["Balm"])
            let browser = Browser(suite)
            let path = try await Self.path(of: shelf.productIds[0], browser)
            try await Self.read(browser, path)
            // Nothing listens there, so that every read fails.
            let declared = try await ParseClient.master(suite).call(
                .POST, "/hooks/triggers",
                ["className": "Product", "triggerName": "beforeFind", "url": "http://127.0.0.1:9/find"])
            try #require(declared.status == 200 || declared.status == 201, "\(declared.text)")
            #expect(try await browser.get(path).status != 200)
        }
    }

    /// Pages that read the parameters of Config depend on all of them.
    @Test func aChangeOfConfigIsAnnounced() async throws {
        try await Suite.with { suite in
            let path = ChangeBoard.path(beside: "\(suite.dataDirectory)/catalog.sqlite")
            let file = try Data(contentsOf: URL(fileURLWithPath: path))
            let identity = file.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) }
            let board = try #require(ChangeBoard.find(path, identity: identity))
            let subject = ChangeSubject.page(ofClass: ChangeSubject.configClass)
            let before = try #require(board.stamp(of: subject))
            _ = try await Shelf.fill(suite, names: ["Balm"])
            #expect(before.isCurrent)
            let changed = try await ParseClient.master(suite).call(.PUT, "/config", ["params": ["color": "red"]])
            try #require(changed.status == 200, "\(changed.text)")
            #expect(!before.isCurrent)
        }
    }

    // MARK: Shoppers

    @Test func noPageHasAnythingOfAShopper() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Balm \(Names.random(6))", "Secret \(Names.random(6))"])
        let secret = shelf.productIds[1]
        let (ann, bob, stranger) = (Browser(suite), Browser(suite), Browser(suite))
        var names: [String] = []
        for shopper in [ann, bob] {
            let name = "Name\(Names.random(8))"
            let form = [
                "email": "\(name.lowercased())@customers.example", "password": "a-long-secret", "firstName": name,
            ]
            let signedUp = try await shopper.post("/sign-up", form)
            try #require(signedUp.status == 303, "\(signedUp.html)")
            names.append(name)
        }
        let token = try #require(ann.cookies.values.first)
        let me = try await ParseClient(suite, sessionToken: token).get("/users/me").objectId
        // One product is for Ann alone.
        try await Self.change(suite, "Product/\(secret)", ["ACL": .object([me: ["read": true]])])
        let path = try await Self.path(of: shelf.productIds[0], stranger)
        let brand = try #require(try await stranger.get("/brands/x-\(shelf.brandId)").location)
        let askers = [(ann, 2), (bob, 1), (stranger, 1)]
        for (browser, count) in askers + askers.reversed() + askers {
            for path in ["/", path, brand, "/search?q=balm"] {
                let page = try await Self.read(browser, path)
                #expect(page.status == 200)
                #expect(!names.contains(where: { page.html.contains($0) }), "\(path)")
                #expect(page.headers.first(name: "Set-Cookie") == nil)
                #expect(page.headers.first(name: "Cache-Control") == "private, no-cache")
                #expect(page.headers.first(name: "Vary")?.contains("Cookie") == true)
            }
            #expect(try await browser.get(brand).html.contains("\(count) products"))
            #expect(try await browser.open("/products/x-\(secret)").status == (count == 2 ? 200 : 404))
        }

        // The shopper's part comes separately, and is kept nowhere.
        let product = "/badge?product=\(shelf.productIds[0])"
        #expect(try await stranger.get(product).html == #"{"pieces":0,"signedIn":false}"#)
        _ = try await ann.post("/favorites", ["product": shelf.productIds[0]])
        for (browser, name, isFavorite) in [(ann, names[0], true), (bob, names[1], false)] {
            let page = try await browser.get(product)
            #expect(page.headers.first(name: "Cache-Control") == "no-store")
            let part = try JSON(parsing: Array(page.html.utf8))
            #expect(part["name"] == .string(name))
            #expect(part["favorite"]?.stringValue?.isEmpty == !isFavorite, "\(page.html)")
        }
        // Signed out, Ann is a stranger.
        _ = try await ann.post("/log-out", [:])
        #expect(try await ann.get(brand).html.contains("1 products"))
        #expect(try await ann.get(product).html == #"{"pieces":0,"signedIn":false}"#)
    }

    /// The forms of a kept page have no token: the browser says where a form is from.
    @Test func theFormsOfAKeptPageWork() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Balm \(Names.random(6))"])
        let browser = Browser(suite)
        let page = try await Self.read(browser, try await Self.path(of: shelf.productIds[0], browser))
        let product = try #require(page.field("product"))
        for site in ["cross-site", "same-site"] {
            #expect(try await browser.post("/bag", ["product": product], from: site).status >= 400)
        }
        #expect(browser.cookies.isEmpty)
        #expect(try await browser.post("/bag", ["product": product]).status == 303)
        #expect(try await browser.get("/badge").html.contains(#""pieces":1"#))
    }

    // MARK: Headers

    /// A suite of its own, because company pages of other tests would be in the footer of these pages.
    @Test func onlyTheAddressDecidesAboutAKeptPage() async throws {
        try await Suite.with { suite in
            try await noOtherPartOfARequestIsInIt(suite)
            try await eachLanguageHasItsPage(suite)
            try await aPageHasATagAndIsCompressedOnce(suite)
            try await bothWaysAnswerAlike(suite)
        }
    }

    private func noOtherPartOfARequestIsInIt(_ suite: Suite) async throws {
        let shelf = try await Shelf.fill(suite, names: (0..<12).map { "Balm \($0) \(Names.random(6))" })
        let browser = Browser(suite)
        let junk = String(repeating: "junk=evil; ", count: 50)
        let rows: [[(String, String)]] = [
            [("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Proto", "evil"), ("X-Forwarded-Port", "66")],
            [("Forwarded", "host=evil.example;proto=https"), ("X-Host", "evil.example")],
            [("X-Original-URL", "/bag?evil"), ("X-Rewrite-URL", "/evil"), ("X-Forwarded-Prefix", "/evil")],
            [("Cookie", junk)], [("Cookie", "satchel=evil; satchel=evil2")],
            [("Cookie", "other=\"><script>evil</script>")], [("Referer", "https://evil.example/")],
            [("User-Agent", "<script>evil</script>")], [("X-Parse-Session-Token", "r:evil")],
            [("Range", "bytes=0-9")], [("X-HTTP-Method-Override", "POST")],
        ]
        for (row, product) in zip(rows, shelf.productIds) {
            let path = try await Self.path(of: product, browser)
            var poisoned: [Browser.Page] = []
            for _ in 0..<4 {
                poisoned.append(try await browser.get(path + "?utm_x=evil&q=evil&page=%22evil", headers: row))
            }
            let plain = try await Self.read(browser, path)
            #expect(plain.status == 200)
            for page in poisoned + [plain] { #expect(!page.html.contains("evil"), "\(row): \(page.html)") }
            #expect(poisoned[3].html == plain.html, "\(row)")
            #expect(plain.headers.first(name: "Location") == nil)
        }
        let last = try await Self.path(of: shelf.productIds[11], browser)
        for _ in 0..<4 {
            let answer = try await RawRequest.send(
                suite, "GET \(last) HTTP/1.1\nHost: evil.example\nAccept: text/html\nAccept-Language: en")
            #expect(answer.hasPrefix("HTTP/1.1 200") && !answer.contains("evil"), "\(answer)")
        }
        #expect(!(try await browser.get(last).html.contains("evil")))
    }

    private func eachLanguageHasItsPage(_ suite: Suite) async throws {
        let shelf = try await Shelf.fill(suite, names: ["Balm \(Names.random(6))"])
        let browser = Browser(suite)
        let path = try await Self.path(of: shelf.productIds[0], browser)
        let rows = [
            ("de-CH,de;q=0.9,en;q=0.5", "de"), ("en", "en"), ("\"><script>,de", "de"), ("", "en"), ("xx,yy,zz", "en"),
            ("de", "de"), ("EN-us", "en"),
        ]
        for (languages, language) in rows + rows {
            browser.languages = languages
            let page = try await Self.read(browser, path)
            #expect(page.html.contains(#"<html lang="\#(language)">"#), "\(languages)")
            #expect(page.html.contains(language == "de" ? "3,50 $" : "$3.50"))
        }
    }

    private func aPageHasATagAndIsCompressedOnce(_ suite: Suite) async throws {
        let shelf = try await Shelf.fill(
            suite, names: ["Balm \(Names.random(6))"], detail: String(repeating: "A long detail. ", count: 100))
        let browser = Browser(suite)
        let path = try await Self.path(of: shelf.productIds[0], browser)
        let gzip = [("Accept-Encoding", "gzip, deflate, br")]
        // Rendered, and kept.
        for _ in 0..<4 {
            let plain = try await browser.get(path)
            let tag = try #require(plain.headers.first(name: "ETag"))
            #expect(tag.hasPrefix("\"") && tag.count == 18)
            #expect(plain.headers.first(name: "Content-Encoding") == nil)
            #expect(plain.headers.first(name: "Content-Type") == "text/html; charset=utf-8")
            #expect(plain.headers.first(name: "Content-Security-Policy")?.contains("default-src 'none'") == true)
            let packed = try await browser.get(path, headers: gzip)
            #expect(packed.headers.first(name: "Content-Encoding") == "gzip")
            #expect(packed.headers.first(name: "ETag") == "W/\(tag)")
            let lengths = [packed, plain].compactMap { $0.headers.first(name: "Content-Length").flatMap { Int($0) } }
            try #require(lengths.count == 2)
            #expect(2 * lengths[0] < lengths[1])
            for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                let unchanged = try await browser.get(path, headers: [("If-None-Match", known)] + gzip)
                #expect(unchanged.status == 304 && unchanged.html.isEmpty, "\(known)")
                #expect(unchanged.headers.first(name: "ETag") == "W/\(tag)")
                #expect(unchanged.headers.first(name: "Cache-Control") == "private, no-cache")
            }
            #expect(try await browser.get(path, headers: [("If-None-Match", "\"other\"")]).status == 200)
            let head = try await browser.head(path)
            #expect(head.headers.first(name: "ETag") == tag)
            #expect(head.html.isEmpty)
        }
        // A page that is made with a session's rights has a tag, and is not compressed.
        let shopper = Browser(suite)
        _ = try await shopper.post("/bag", ["product": shelf.productIds[0]])
        let own = try await shopper.get(path, headers: gzip)
        #expect(own.headers.first(name: "Content-Encoding") == nil)
        let tag = try #require(own.headers.first(name: "ETag"))
        #expect(try await shopper.get(path, headers: [("If-None-Match", tag)]).status == 304)
        try await Self.change(suite, "Product/\(shelf.productIds[0])", ["unitPrice": 99])
        for browser in [browser, shopper] {
            let changed = try await browser.get(path, headers: [("If-None-Match", tag)])
            #expect(changed.status == 200 && changed.html.contains("$99.00"), "\(changed.html)")
        }
        // Pages of a shopper and refusals have none.
        for path in ["/bag", "/products/none", "/log-in"] {
            #expect(try await browser.get(path).headers.first(name: "ETag") == nil, "\(path)")
        }
    }

    /// The event loop answers kept pages, a task all others: browsers must see no difference.
    private func bothWaysAnswerAlike(_ suite: Suite) async throws {
        let shelf = try await Shelf.fill(suite, names: ["Balm \(Names.random(6))"])
        let browser = Browser(suite)
        let path = try await Self.path(of: shelf.productIds[0], browser)
        try await Self.read(browser, path)
        func lines(_ answer: String) -> [String] {
            answer.components(separatedBy: "\r\n\r\n")[0].components(separatedBy: "\r\n").filter { line in
                !["x-satchel-request-id", "date"].contains(line.prefix { $0 != ":" }.lowercased())
            }.map { $0.lowercased() }.sorted()
        }
        for more in ["Accept: */*", "If-None-Match: *", "Origin: https://shop.example"] {
            let start = "GET \(path) HTTP/1.1\nHost: x\nAccept: text/html\nAccept-Language: en\n\(more)"
            let direct = try await RawRequest.send(suite, start)
            let long = try await RawRequest.send(suite, start + "\nContent-Length: 2", "{}")
            #expect(lines(direct) == lines(long), "\(more)")
            #expect(direct.components(separatedBy: "\r\n\r\n").last == long.components(separatedBy: "\r\n\r\n").last)
        }
    }
}
