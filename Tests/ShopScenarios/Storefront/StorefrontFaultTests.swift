import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Faults of other storefronts that this one must not have, as far as they show without a browser's memory.
@Suite struct StorefrontFaultTests {
    private static let address = [
        "firstName": "Ann", "lastName": "Lee", "address1": "1 Main St", "city": "Springfield", "state": "IL",
        "zipcode": "62701", "card": "tok_visa",
    ]

    /// A guest with one product in the bag.
    private static func guest(_ suite: Suite, price: JSON = 12.5) async throws -> (Browser, product: String) {
        let shelf = try await Shelf.fill(suite, names: ["Balm \(Names.random(6))"], prices: [price])
        let browser = Browser(suite)
        let added = try await browser.post("/bag", ["product": shelf.productIds[0]])
        try #require(added.location == "/bag", "\(added.html)")
        return (browser, shelf.productIds[0])
    }

    private static func customer(_ suite: Suite) async throws -> (Browser, Customer) {
        let customer = try await Customer.signUp(suite)
        let browser = Browser(suite)
        let form = ["email": customer.email, "password": customer.password]
        try await eventually("the log-in") { try await browser.post("/log-in", form).location == "/account" }
        return (browser, customer)
    }

    /// The form of the checkout as the page shows it, filled in.
    private static func form(_ browser: Browser) async throws -> [String: String] {
        let page = try await browser.get("/checkout")
        var form = address
        form["email"] = "\(Names.random(10).lowercased())@customers.example"
        form["attempt"] = try #require(page.field("attempt"), "\(page.html)")
        form["seen"] = try #require(page.field("seen"))
        return form
    }

    // MARK: - Back and Reload

    @Test func backFromTheReceiptOrdersNothingAgain() async throws {
        let suite = try await Suite.shared
        let (browser, product) = try await Self.guest(suite)
        let form = try await Self.form(browser)
        let receipt = try #require(try await browser.post("/checkout", form).location)
        #expect(receipt.hasPrefix("/orders/"))
        // "Back" loads the checkout anew, because no cache keeps it; a browser that kept it sends the same attempt.
        let back = try await browser.get("/checkout")
        #expect(back.status == 303 && back.location == "/bag")
        #expect(back.headers.first(name: "Cache-Control") == "no-store")
        for _ in 1...2 { #expect(try await browser.post("/checkout", form).location == receipt) }
        #expect(try await browser.get("/badge").html.contains(#""pieces":0"#))
        let left = try await ParseClient.master(suite).get("/classes/Product/\(product)")
        #expect(left["stock"] == 99, "\(left.text)")
    }

    /// A response to a POST in the history makes the browser ask whether to send the form again.
    @Test func eachFormIsAnsweredByARedirectionWithoutItsTexts() async throws {
        let suite = try await Suite.shared
        let (browser, customer) = try await Self.customer(suite)
        let product = try await Self.guest(suite).product
        _ = try await browser.post("/bag", ["product": product])
        let secret = Names.random(12)
        var declined = Self.address
        declined["card"] = "tok_chargeDeclinedInsufficientFunds"
        let forms: [(String, [String: String])] = [
            ("/log-in", ["email": customer.email, "password": secret]),
            ("/sign-up", ["email": customer.email, "password": secret]),
            ("/sign-up", ["email": "x", "password": secret]),
            ("/checkout", declined), ("/checkout", ["city": secret]),
            ("/bag", ["product": product, "set": "1", "quantity": "100000"]), ("/bag/code", ["code": secret]),
            ("/account/contact", ["email": secret]), ("/account/addresses/new", ["city": secret]),
            ("/account/payments", ["card": "tok_chargeDeclinedInsufficientFunds"]),
            ("/account/password", ["password": secret, "newPassword": secret]),
            ("/account/forgotten", ["email": secret]), ("/account/delete", ["password": secret]),
            ("/products/x-\(product)/review", ["rating": "9", "content": secret]),
        ]
        for (path, form) in forms {
            let sent = try await browser.post(path, form)
            let location = try #require(sent.location, "\(path): \(sent.status) \(sent.html)")
            #expect(sent.status == 303, "\(path)")
            #expect(!location.contains(secret) && !location.contains(customer.email.percentEncoded), "\(location)")
            #expect(!browser.cookies.values.contains { $0.contains(secret) })
            let shown = try await browser.get(location)
            #expect(shown.html.contains(#"class="problem""#), "\(path): \(shown.html)")
            // Once: Reload shows the page as it is.
            #expect(browser.cookies["satchel-kept"] == nil, "\(path)")
            #expect(try await !browser.get(location).html.contains(#"role="alert""#), "\(path)")
        }
    }

    @Test func aDeclinedFormKeepsWhatWasTypedAndTheNextAttemptIsAnother() async throws {
        let suite = try await Suite.shared
        let (browser, _) = try await Self.guest(suite)
        var form = try await Self.form(browser)
        form["card"] = "tok_chargeDeclinedInsufficientFunds"
        form["note"] = "Ring \"twice\""
        form["address2"] = ""
        let page = try await browser.submit("/checkout", form)
        #expect(page.html.contains("insufficient funds"), "\(page.html)")
        #expect(page.html.contains("Ring &quot;twice&quot;"))
        #expect(page.field("city") == "Springfield" && page.field("email") == form["email"])
        #expect(page.field("attempt") != form["attempt"])
    }

    /// Too much for a cookie: the page comes back without the longest text, and with the problem.
    @Test func aLongTextBreaksNoPage() async throws {
        let suite = try await Suite.shared
        let (browser, _) = try await Self.customer(suite)
        let product = try await Self.guest(suite).product
        let page = try await browser.submit(
            "/products/x-\(product)/review", ["rating": "9", "content": String(repeating: "ä", count: 4000)])
        #expect(page.status == 200)
        #expect(page.html.contains(#"id="rating-wrong""#), "\(page.html)")
    }

    // MARK: - The bag

    @Test func theBagIsNeverOld() async throws {
        let suite = try await Suite.shared
        let (browser, product) = try await Self.guest(suite)
        func set(_ quantity: String) async throws -> Browser.Page {
            try await browser.submit("/bag", ["product": product, "set": "1", "quantity": quantity])
        }
        let three = try await set("3")
        #expect(three.html.contains("$37.50"), "\(three.html)")
        for path in ["/bag", "/checkout", "/badge"] {
            #expect(try await browser.get(path).headers.first(name: "Cache-Control") == "no-store", "\(path)")
        }
        for odd in ["-1", "1000000", "99999999999999999999", "2.5", "x"] {
            let page = try await set(odd)
            #expect(page.status == 200, "\(odd): \(page.html)")
            #expect(try await !browser.get("/bag").html.contains("-$"), "\(odd)")
        }
        let none = try await set("0")
        #expect(none.html.contains("Your bag is empty"), "\(none.html)")
        #expect(try await browser.get("/badge").html.contains(#""pieces":0"#))
        // A second tab still shows the checkout.
        #expect(try await browser.get("/checkout").location == "/bag")
        var form = Self.address
        form["email"] = "a@customers.example"
        form["attempt"] = UUID().uuidString
        let sent = try await browser.post("/checkout", form)
        #expect(sent.status == 303 && sent.location == "/checkout", "\(sent.html)")
        #expect(try await browser.get("/checkout").location == "/bag")
    }

    @Test func aSecondTabWithAnOldPriceIsTold() async throws {
        let suite = try await Suite.shared
        let (browser, product) = try await Self.guest(suite)
        let form = try await Self.form(browser)
        let dearer = try await ParseClient.master(suite).call(.PUT, "/classes/Product/\(product)", ["unitPrice": 20])
        try #require(dearer.status == 200, "\(dearer.text)")
        try await eventually("the bag has the new price") {
            try await browser.get("/bag").html.contains("$20.00")
        }
        let page = try await browser.submit("/checkout", form)
        #expect(page.html.contains("The price has changed."), "\(page.html)")
        #expect(page.html.contains("$20.00") && page.field("seen") == "2000", "\(page.html)")
        #expect(try await browser.get("/badge").html.contains(#""pieces":1"#))
        // The price of the order is the server's, whatever a form says.
        var next = try await Self.form(browser)
        next["total"] = "1"
        next["unitPrice"] = "1"
        let receipt = try #require(try await browser.post("/checkout", next).location)
        #expect(try await browser.get(receipt).html.contains("$20.00"))
    }

    @Test func aGoodThatIsGoneIsNotSold() async throws {
        let suite = try await Suite.shared
        let (browser, product) = try await Self.guest(suite)
        let form = try await Self.form(browser)
        let gone = try await ParseClient.master(suite).call(.PUT, "/classes/Product/\(product)", ["active": false])
        try #require(gone.status == 200, "\(gone.text)")
        let sent = try await browser.post("/checkout", form)
        #expect(sent.status == 303 && sent.location == "/checkout", "\(sent.html)")
        #expect(try await browser.get("/products/x-\(product)").status == 404)
        let added = try await browser.submit("/bag", ["product": product])
        #expect(added.status >= 400 || added.html.contains(#"class="problem""#), "\(added.html)")
    }

    @Test func anAddressOfAnotherCountryStaysThere() async throws {
        let suite = try await Suite.shared
        let (browser, customer) = try await Self.customer(suite)
        var stored = Customer.address
        stored["country"] = "Österreich"
        let made = try await customer.client.create("Address", stored)
        try #require(made.status == 201, "\(made.text)")
        let product = try await Self.guest(suite).product
        _ = try await browser.post("/bag", ["product": product])
        let page = try await browser.get("/checkout")
        #expect(page.field("country") == "Österreich", "\(page.html)")
        var form = ["card": "tok_visa", "attempt": try #require(page.field("attempt"))]
        for name in ["firstName", "lastName", "phone", "address1", "city", "state", "zipcode", "country"] {
            form[name] = page.field(name)
        }
        let receipt = try #require(try await browser.post("/checkout", form).location)
        #expect(try await browser.get(receipt).html.contains("Österreich"))
    }

    @Test func orderAgainLeadsToTheBag() async throws {
        let suite = try await Suite.shared
        let (browser, product) = try await Self.guest(suite)
        let receipt = try #require(try await browser.post("/checkout", try await Self.form(browser)).location)
        let path = receipt.prefix { $0 != "?" }
        #expect(try await browser.post("\(path)/again", [:]).location == "/bag")
        #expect(try await browser.get("/badge").html.contains(#""pieces":1"#))
        #expect(try await browser.get("/bag").html.contains(product))
    }

    // MARK: - Refusals

    @Test func aRefusalIsAPageOfTheShop() async throws {
        let settings = [
            "SATCHEL_RATE_LIMITS": "search=2/600s per ip", "SATCHEL_STOREFRONT": "true",
            "SATCHEL_BODY_BYTES_MAX": "200000",
        ]
        try await Suite.with(settings: settings) { suite in
            let browser = Browser(suite)
            var last: Browser.Page?
            for _ in 1...4 { last = try await browser.get("/search?q=a") }
            let limited = try #require(last)
            #expect(limited.status == 429)
            #expect(limited.headers.first(name: "Retry-After") != nil)
            browser.languages = "de"
            let german = try await browser.get("/search?q=a")
            #expect(german.html.contains("zu viele Anfragen"), "\(german.html)")
            browser.languages = "en"
            let foreign = try await browser.post("/bag", ["product": "x"], from: "cross-site")
            #expect(foreign.status == 403)
            let long = try await browser.post("/bag", ["product": String(repeating: "x", count: 40_000)])
            #expect(long.status == 413)
            let huge = try await browser.post("/bag", ["product": String(repeating: "x", count: 300_000)])
            #expect(huge.status == 413)
            for page in [limited, foreign, long, huge] {
                #expect(page.headers.first(name: "Content-Type")?.hasPrefix("text/html") == true, "\(page.html)")
                #expect(page.html.contains("<main") && page.html.contains("shop.css"), "\(page.html)")
                #expect(page.headers.first(name: "Content-Security-Policy") != nil)
                #expect(page.headers.first(name: "Cache-Control") == "no-store")
            }
            #expect(try await browser.get("/").status == 200)
        }
    }

    /// The bag of a shopper whose first step began a session and whose second failed is not lost.
    @Test func aSessionReachesTheBrowserThoughTheStepAfterItFails() async throws {
        let suite = try await Suite.shared
        let browser = Browser(suite)
        let failed = try await browser.post("/bag", ["product": "none\(Names.random(6))"])
        #expect(failed.status >= 400, "\(failed.html)")
        #expect(browser.cookies["satchel"] != nil)
        #expect(try await browser.get("/bag").html.contains("Your bag is empty"))
    }

    /// A flood of pages from one address costs other shoppers no page.
    @Test func aFloodOfOneAddressLeavesThePagesOfOthers() async throws {
        let settings = ["SATCHEL_TRUSTED_PROXIES": "127.0.0.1", "SATCHEL_STOREFRONT": "true"]
        try await Suite.with(settings: settings) { suite in
            @Sendable func page(_ address: String) async throws -> Int {
                try await Browser(suite).send(.GET, "/search?q=a", [("X-Forwarded-For", address)]).status
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 1...100 {
                    group.addTask {
                        for _ in 1...5 { _ = try await page("203.0.113.7") }
                        return try await page("203.0.113.7")
                    }
                }
                for number in 1...20 {
                    let status = try await page("198.51.100.\(number)")
                    #expect(status == 200)
                }
                for try await status in group { #expect([200, 429, 503].contains(status)) }
            }
            #expect(try await page("203.0.113.7") == 200)
        }
    }
}
