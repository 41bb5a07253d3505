import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Attacks on the storefront's pages: stored script, forms of other sites, planted cookies, redirections to elsewhere.
@Suite struct StorefrontAttackTests {
    private static func logIn(_ customer: Customer, _ suite: Suite) async throws -> Browser {
        let browser = Browser(suite)
        let form = ["email": customer.email, "password": customer.password]
        try await eventually("the log-in") { try await browser.post("/log-in", form).location == "/account" }
        return browser
    }

    // MARK: - Stored script

    /// Ends attributes with either quote, texts, comments, scripts and JSON, and begins a script and a handler.
    private static let script = #"x"'--></script><script>attack()</script><img src=x onerror=attack()>"#

    /// The page has the text, and every place of it is escaped.
    private static func expectText(_ page: Browser.Page, at path: String, isShown: Bool = true) throws {
        if isShown { #expect(page.status == 200, "\(path): \(page.html)") }
        for part in ["<script>attack", "<img src=x", #"x"'-->"#, "onerror=\"", "<script >"] {
            #expect(!page.html.contains(part), "\(path): \(page.html)")
        }
        if isShown { #expect(page.html.contains("&lt;script&gt;attack()"), "\(path): \(page.html)") }
        for data in page.html.components(separatedBy: #"<script type="application/ld+json">"#).dropFirst() {
            let text = try #require(data.components(separatedBy: "</script>").first)
            #expect(!text.contains("<"), "\(path): \(text)")
            _ = try JSON(parsing: Array(text.utf8))
        }
    }

    /// Sellers' texts, in a separate suite: footers of all pages show them.
    @Test func textsOfSellersAreEscaped() async throws {
        try await Suite.with(settings: ["SATCHEL_STOREFRONT": "true", "SATCHEL_SHOP_NAME": Self.script]) { suite in
            let master = ParseClient.master(suite)
            let text = JSON.string(Self.script)
            func make(_ className: String, _ object: JSON) async throws -> String {
                let answer = try await master.create(className, object)
                try #require(answer.status == 201, "\(className): \(answer.text)")
                return answer.objectId
            }
            let brand = try await make("Category", ["title": text])
            let product = try await make(
                "Product",
                [
                    "name": text, "detail": text, "priceUnit": "ea", "unitPrice": 3.5, "stock": 5,
                    "brand": .pointer("Category", brand),
                ])
            let promotion = try await make("Promotion", ["content": text])
            _ = try await make("Page", ["name": "attack", "title": text, "content": text, "published": true])
            _ = try await make(
                "Store",
                [
                    "name": text, "city": text, "zipcode": text, "address": text, "hours": text,
                    "location": StoreTests.point(10, 10),
                ])
            let browser = Browser(suite)
            let reflected = Self.script.percentEncoded
            for path in [
                "/", "/brands/x-\(brand)", "/products/x-\(product)", "/promotions/\(promotion)", "/pages",
                "/pages/attack", "/stores", "/search?q=\(reflected)", "/stores?q=\(reflected)",
            ] { try Self.expectText(try await browser.open(path), at: path) }
            for path in [
                "/search?q=x&sort=\(reflected)&min=\(reflected)", "/brands/x-\(brand)?page=\(reflected)",
                "/bag?missing=\(reflected)", "/log-in?next=\(reflected)", "/sign-up?next=/\(reflected)", "/offline",
            ] { try Self.expectText(try await browser.open(path), at: path, isShown: false) }
            _ = try await browser.post("/bag", ["product": product])
            for path in ["/bag", "/checkout"] { try Self.expectText(try await browser.get(path), at: path) }
            let manifest = try await browser.get("/manifest.webmanifest")
            #expect(try JSON(parsing: Array(manifest.html.utf8))["name"] == text, "\(manifest.html)")
            let suggestions = try await browser.get("/search/suggestions?q=x")
            #expect(suggestions.headers.first(name: "Content-Type")?.hasPrefix("application/json") == true)
            let sitemap = try await browser.get("/sitemap.xml")
            #expect(!sitemap.html.contains("attack()"), "\(sitemap.html)")
            for kind in ["Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options"] {
                #expect(sitemap.headers.first(name: kind) != nil)
            }
        }
    }

    /// What shoppers write, seen by themselves and by others.
    @Test func textsOfShoppersAreEscaped() async throws {
        try await Suite.with(settings: ["SATCHEL_STOREFRONT": "true", "SATCHEL_PUBLIC_USERS": "true"]) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Plain"])
            let product = "/products/x-\(shelf.productIds[0])"
            let customer = try await Customer.signUp(suite)
            let browser = try await Self.logIn(customer, suite)
            let text = Self.script
            func send(_ path: String, _ form: [String: String]) async throws {
                let sent = try await browser.post(path, form)
                #expect(sent.status == 303, "\(path): \(sent.html)")
                let next = try #require(sent.location)
                #expect(try await browser.open(next).status == 200, "\(path)")
            }
            try await send(
                "/account/contact", ["firstName": text, "lastName": text, "phone": text, "email": customer.email])
            var address: [String: String] = [:]
            for name in [
                "firstName", "lastName", "address1", "address2", "city", "state", "zipcode", "phone", "label",
            ] { address[name] = text }
            try await send("/account/addresses/new", address)
            try await send("\(product)/review", ["rating": "5", "content": text])
            try await send("/bag", ["product": shelf.productIds[0]])
            var order = address
            order["card"] = "tok_visa"
            order["attempt"] = UUID().uuidString
            order["note"] = text
            order["gift"] = text
            let receipt = try #require(try await browser.post("/checkout", order).location)
            #expect(receipt.hasPrefix("/orders/"), "\(receipt)")
            let stored = try await customer.client.find("Address").results.first?.objectId ?? ""
            let paths = [
                "/account", "/account/contact", "/account/addresses", "/account/addresses/\(stored)",
                "\(product)/review", receipt,
            ]
            for path in paths { try Self.expectText(try await browser.open(path), at: path) }
            let refused = try await browser.submit("/bag/code", ["code": text])
            try Self.expectText(refused, at: "/bag/code", isShown: false)
            try await send("/bag", ["product": shelf.productIds[0]])
            try Self.expectText(try await browser.get("/checkout"), at: "/checkout")
            let incomplete = ["city": text, "note": text, "gift": text]
            try Self.expectText(try await browser.submit("/checkout", incomplete), at: "a refused checkout")
            for path in ["/log-in", "/sign-up", "/account/forgotten"] {
                let form = ["email": text, "firstName": text, "password": "a-long-secret"]
                try Self.expectText(try await Browser(suite).submit(path, form), at: path)
            }
            // The review and its author, as others see them.
            try Self.expectText(try await Browser(suite).open(product), at: product)
        }
    }

    // MARK: - Forms of other sites

    private static let forms = [
        "/bag", "/bag/code", "/checkout", "/favorites", "/log-in", "/log-in/code", "/log-out", "/sign-up",
        "/orders/x/cancel", "/orders/x/again", "/products/x/review", "/products/x/report", "/account/contact",
        "/account/contact/verify", "/account/addresses/new", "/account/addresses/x", "/account/addresses/x/default",
        "/account/addresses/x/delete", "/account/payments", "/account/payments/x/default",
        "/account/payments/x/delete", "/account/devices/x/end", "/account/password", "/account/forgotten",
        "/account/delete", "/account/factor", "/account/factor/remove", "/account/photo",
    ]

    @Test func noFormOfAnotherSiteIsTaken() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let browser = try await Self.logIn(customer, suite)
        let type = ("Content-Type", "application/x-www-form-urlencoded")
        let host = String(suite.url.dropLast("/parse".count))
        let headers: [[(String, String)]] = [
            [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")],
            // A browser's word counts, whatever another header says.
            [("Sec-Fetch-Site", "cross-site"), ("Origin", host)],
            [("Origin", "https://evil.example")], [("Origin", "null")], [("Origin", "\(host).evil.example")],
            [("Origin", "https://evil.example"), ("Host", "127.0.0.1")],
            // Under the public name only the public origin counts.
            [("Origin", host.replacing("http:", with: "https:"))],
        ]
        let body = Array("email=a%40b.example&password=a-long-secret&firstName=Changed&city=x".utf8)
        for path in Self.forms {
            for header in headers {
                let refused = try await browser.send(.POST, path, [type] + header, body)
                #expect(refused.status == 403, "\(path) \(header): \(refused.status) \(refused.html)")
                #expect(refused.html.contains("Another site has sent this form."), "\(path)")
                #expect(refused.headers.first(name: "Set-Cookie") == nil, "\(path)")
            }
        }
        #expect(try await customer.client.get("/users/me")["firstName"] == "Ada")
        #expect(try await browser.get("/account").status == 200)
    }

    /// Browsers send no `Sec-Fetch-Site` over plain HTTP. A shop in a home network is open under its own names.
    @Test func aFormOfTheShopUnderAnotherNameIsTaken() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Near \(Names.random(4))"])
        let type = ("Content-Type", "application/x-www-form-urlencoded")
        let body = Array("product=\(shelf.productIds[0])".utf8)
        for (origin, host) in [
            ("http://shop.local:8080", "shop.local:8080"), ("https://SHOP.example", "shop.example"),
            ("http://[::1]:1337", "[::1]:1337"),
        ] {
            let taken = try await Browser(suite).send(.POST, "/bag", [type, ("Origin", origin), ("Host", host)], body)
            #expect(taken.status == 303, "\(origin): \(taken.html)")
        }
        for (origin, host) in [
            ("http://shop.local", "shop.local:8080"), ("http://evil.example", "shop.local"),
            ("http://shop.local@evil.example", "shop.local"), ("ftp://shop.local", "shop.local"), ("", "shop.local"),
        ] {
            let refused = try await Browser(suite).send(
                .POST, "/bag", [type, ("Origin", origin), ("Host", host)], body)
            #expect(refused.status == 403, "\(origin): \(refused.status)")
        }
    }

    /// A text of a million combining marks would take hours to compare or to hash.
    @Test(.timeLimit(.minutes(5))) func aFormOfCombiningMarksIsRefusedAtOnce() async throws {
        let browser = Browser(try await Suite.shared)
        let marks = "a" + String(repeating: "\u{301}\u{316}\u{328}\u{345}", count: 50_000)
        let type = ("Content-Type", "multipart/form-data; boundary=b")
        for head in [
            #"form-data; name="\#(marks)""#, #"form-data; name="photo"; filename="\#(marks)""#,
            "form-data; name=\"photo\"; filename=\"a\"\r\nContent-Type: \(marks)",
        ] {
            let body = "--b\r\nContent-Disposition: \(head)\r\n\r\nx\r\n--b--\r\n"
            let headers = [type, ("Sec-Fetch-Site", "same-origin")]
            let page = try await browser.send(.POST, "/bag", headers, Array(body.utf8))
            #expect(page.status == 400, "\(page.html.prefix(300))")
        }
        #expect(try await browser.get("/").status == 200)
    }

    // MARK: - Cookies

    @Test func aPlantedSessionIsReplacedByALogIn() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Bait \(Names.random(4))"])
        let customer = try await Customer.signUp(suite)
        for path in ["/log-in", "/sign-up"] {
            // An attacker's guest session, planted in a shopper's browser.
            let attacker = Browser(suite)
            _ = try await attacker.post("/bag", ["product": shelf.productIds[0]])
            let planted = try #require(attacker.cookies["satchel"])
            let shopper = Browser(suite)
            shopper.cookies = attacker.cookies
            let isNew = path == "/sign-up"
            let email = isNew ? "\(Names.random(10).lowercased())@customers.example" : customer.email
            let form = ["email": email, "password": isNew ? "a-long-secret" : customer.password]
            try await eventually("the log-in") { try await shopper.post(path, form).location == "/account" }
            let own = try #require(shopper.cookies["satchel"])
            #expect(own != planted, "\(path)")
            let thief = Browser(suite)
            thief.cookies["satchel"] = planted
            #expect(try await thief.get("/badge").html.contains(#""signedIn":false"#), "\(path)")
            #expect(try await thief.get("/account").location?.hasPrefix("/log-in") == true, "\(path)")
        }
        // Neither an invented cookie nor one that is there twice is a session.
        let invented = Browser(suite)
        invented.cookies["satchel"] = "r:chosen"
        _ = try await invented.post("/bag", ["product": shelf.productIds[0]])
        #expect(invented.cookies["satchel"] != "r:chosen")
        let token = try #require(try await Self.logIn(customer, suite).cookies["satchel"])
        let twice = try await Browser(suite).send(
            .GET, "/badge", [("Cookie", "satchel=r:other; satchel=\(token)")])
        #expect(twice.html.contains(#""signedIn":false"#), "\(twice.html)")
    }

    @Test func theCookieCountsOnPagesAlone() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let browser = try await Self.logIn(customer, suite)
        let token = try #require(browser.cookies["satchel"])
        let headers = [
            ("X-Parse-Application-Id", "satchel"), ("Cookie", "satchel=\(token)"),
            ("Content-Type", "application/json"), ("Sec-Fetch-Site", "same-origin"),
        ]
        let made = try await customer.client.create("Address", Customer.address)
        try #require(made.status == 201, "\(made.text)")
        let client = ParseClient(suite)
        for path in ["/users/me", "/sessions/me", "/classes/Address/\(made.objectId)", "/classes/_Session"] {
            let answer = try await client.send(.GET, path, headers: headers)
            let isNothing = answer.results.isEmpty && answer["objectId"] == nil
            #expect(answer.status >= 400 || isNothing, "\(path): \(answer.text)")
        }
        let bag = try await client.send(.POST, "/functions/bag", headers: headers, body: Array("{}".utf8))
        #expect(bag.status >= 400, "\(bag.text)")
        let changed = try await client.send(
            .PUT, "/users/\(customer.userId)", headers: headers, body: Array(#"{"firstName":"x"}"#.utf8))
        #expect(changed.status >= 400, "\(changed.text)")
        let out = try await client.send(.POST, "/logout", headers: headers, body: Array("{}".utf8))
        #expect(try await browser.get("/account").status == 200, "\(out.text)")
        // `1` is the mount of hosted Parse.
        var old = client
        old.url = String(client.url.dropLast("parse".count)) + "1"
        #expect(try await old.send(.GET, "/users/me", headers: headers).status >= 400)
        // A token in the query or in the form is none either.
        for path in ["/account?sessionToken=\(token)", "/account?satchel=\(token)"] {
            #expect(try await Browser(suite).get(path).location?.hasPrefix("/log-in") == true, "\(path)")
        }
        // Pages never hold the token.
        for path in ["/account", "/account/devices", "/account/contact", "/badge"] {
            #expect(try await !browser.get(path).html.contains(token), "\(path)")
        }
    }

    @Test func theCookieDoesNotCountInLiveQueries() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let browser = try await Self.logIn(customer, suite)
        let token = try #require(browser.cookies["satchel"])
        let made = try await customer.client.create("Address", Customer.address)
        try #require(made.status == 201, "\(made.text)")
        let owner = try await LiveConnection.connect(
            suite, ["sessionToken": .string(try #require(customer.client.sessionToken))])
        let page = try await LiveConnection.connect(suite, headers: ["Cookie: satchel=\(token)"])
        let wanted: JSON = ["objectId": .string(made.objectId)]
        try #require(try await owner.subscribe(1, "Address", wanted)["op"] == "subscribed")
        try await page.subscribe(1, "Address", wanted)
        for city in ["Ulm", "Bonn"] {
            let path = "/classes/Address/\(made.objectId)"
            let changed = try await customer.client.call(.PUT, path, ["city": .string(city)])
            try #require(changed.status == 200, "\(changed.text)")
            _ = try await owner.nextEvent(of: 1)
        }
        #expect(!page.waiting.contains { $0["object"] != nil }, "\(page.waiting)")
    }

    // MARK: - Redirections

    @Test func noRedirectionLeavesTheShop() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let shelf = try await Shelf.fill(suite, names: ["Way \(Names.random(4))"])
        let places = [
            "//evil.example", "/\\evil.example", "\\\\evil.example", "https:evil.example", "https://evil.example",
            "https:/evil.example", "evil.example", "javascript:alert(1)", " //evil.example", "\t//evil.example",
            "/\t/evil.example", "/\n/evil.example", "//evil.example/..", "///evil.example",
            "/\u{2044}evil.example", "%2F%2Fevil.example", "/%09/evil.example", "",
        ]
        let browser = try await Self.logIn(customer, suite)
        for place in places {
            for (path, form) in [
                ("/bag", ["product": shelf.productIds[0], "next": place]),
                ("/favorites", ["product": shelf.productIds[0], "next": place]),
                ("/favorites?next=\(place.percentEncoded)", ["product": shelf.productIds[0]]),
            ] { Self.expectOwn(try await browser.post(path, form).location, place) }
            let page = try await Browser(suite).get("/log-in?next=\(place.percentEncoded)")
            Self.expectOwn(page.field("next"), place)
            Self.expectOwn(
                try await Browser(suite).post("/favorites", ["next": place]).location, place)
            // A refused log-in keeps the place for the next one.
            let again = try await Browser(suite).submit("/sign-up", ["email": "x", "next": place])
            Self.expectOwn(again.field("next"), place)
        }
        for place in ["//evil.example", "/\\evil.example"] {
            let shopper = Browser(suite)
            let form = ["email": customer.email, "password": customer.password, "next": place]
            try await eventually("the log-in") { try await shopper.post("/log-in", form).location == "/account" }
        }
        // A path that begins like a host moves nowhere else.
        for path in ["//evil.example", "//evil.example/bag", "/brands//evil.example", "/products/%5Cevil-x"] {
            let page = try await Browser(suite).send(.GET, path, [("Accept", "text/html")])
            if let location = page.location { Self.expectOwn(location, path) }
        }
    }

    /// A path that every browser resolves to this shop.
    private static func expectOwn(_ location: String?, _ place: String) {
        let location = location ?? ""
        #expect(location.hasPrefix("/") && !location.hasPrefix("//"), "\(place): \(location)")
        #expect(!location.contains("\\") && !location.contains("\t") && !location.contains("\n"), "\(place)")
    }

    // MARK: - Products

    @Test func anInactiveProductIsNowhere() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Hidden \(Names.random(8))"])
        let (id, name) = (shelf.productIds[0], shelf.names[0])
        let browser = Browser(suite)
        #expect(try await browser.open("/products/x-\(id)").status == 200)
        let hidden = try await ParseClient.master(suite).call(.PUT, "/classes/Product/\(id)", ["active": false])
        try #require(hidden.status == 200, "\(hidden.text)")
        for path in ["/products/x-\(id)", "/products/\(id)", "/products/\(ShopText.slug(name))-\(id)"] {
            #expect([404, 410].contains(try await browser.open(path).status), "\(path)")
        }
        for path in [
            "/brands/x-\(shelf.brandId)", "/search?q=\(name.percentEncoded)",
            "/search/suggestions?q=\(name.percentEncoded)",
        ] { #expect(try await !browser.open(path).html.contains("/products/\(ShopText.slug(name))"), "\(path)") }
        _ = try await browser.post("/bag", ["product": id])
        #expect(try await browser.get("/badge").html.contains(#""pieces":0"#))
    }

    private enum ShopText {
        static func slug(_ name: String) -> String { name.lowercased().replacing(" ", with: "-") }
    }
}
