import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The storefront as a browser without scripts sees it.
@Suite struct StorefrontTests {
    /// A shop's brand and product, made for one test.
    private struct Goods {
        let brand: String
        let product: String
        let name: String

        static func make(_ suite: Suite, stock: Int64 = 10) async throws -> Goods {
            let master = ParseClient.master(suite)
            let name = "Serum <\(Names.random(8))>"
            let brand = try await master.create("Category", ["title": .string("Brand \(name)")])
            let product = try await master.create(
                "Product",
                [
                    "name": .string(name), "detail": "For <b>dry</b> skin.", "unitPrice": 12.5, "priceUnit": "ea",
                    "brand": .pointer("Category", brand.objectId), "stock": .int(stock),
                ])
            try #require(product.status == 201, "\(product.text)")
            return Goods(brand: brand.objectId, product: product.objectId, name: name)
        }
    }

    private static let address = [
        "firstName": "Ann", "lastName": "Lee", "address1": "1 Main St", "city": "Springfield", "state": "IL",
        "zipcode": "62701",
    ]

    private static func email() -> String { "\(Names.random(10).lowercased())@customers.example" }

    @Test func aGuestBuysAndSeesTheReceipt() async throws {
        let suite = try await Suite.shared
        let goods = try await Goods.make(suite)
        let browser = Browser(suite)
        let moved = try await browser.get("/brands/any-\(goods.brand)")
        #expect(moved.status == 301)
        let brand = try await browser.get(try #require(moved.location))
        #expect(brand.status == 200)
        #expect(brand.html.contains("$12.50<"), "\(brand.html)")
        let page = try await browser.get(try #require(brand.link("/products/")))
        #expect(page.status == 200)
        #expect(page.html.contains("For &lt;b&gt;dry&lt;/b&gt; skin."))
        #expect(browser.cookies.isEmpty)

        let added = try await browser.post("/bag", ["product": goods.product, "quantity": "2"])
        #expect(added.status == 303)
        #expect(added.location == "/bag")
        let cookie = try #require(added.headers.first(name: "Set-Cookie"))
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "\(cookie)")
        let bag = try await browser.get("/bag")
        #expect(bag.html.contains("$25.00"))
        #expect(bag.headers.first(name: "Cache-Control") == "no-store")
        #expect(try await browser.get("/badge").html == #"{"pieces":2,"signedIn":false}"#)

        let checkout = try await browser.get("/checkout")
        var form = Self.address
        form["email"] = Self.email()
        form["attempt"] = try #require(checkout.field("attempt"))
        form["card"] = "tok_chargeDeclinedInsufficientFunds"
        #expect(try await browser.post("/checkout", form).location == "/checkout")
        let declined = try await browser.get("/checkout")
        #expect(declined.html.contains("insufficient funds"), "\(declined.html)")
        let next = declined.field("attempt")
        #expect(next != form["attempt"])
        form["attempt"] = try #require(next)

        form["card"] = "tok_visa"
        let paid = try await browser.post("/checkout", form)
        #expect(paid.status == 303, "\(paid.html)")
        let receipt = try #require(paid.location)
        // Sent again, after "Back": the same receipt, and no second charge.
        #expect(try await browser.post("/checkout", form).location == receipt)
        let order = try await browser.get(receipt)
        #expect(order.html.contains("Thank you"))
        #expect(order.html.contains("$25.00"))
        #expect(try await browser.get("/badge").html == #"{"pieces":0,"signedIn":false}"#)
        let left = try await ParseClient.master(suite).get("/classes/Product/\(goods.product)")
        #expect(left["stock"] == 8)
        // Nobody else sees it.
        let id = receipt.prefix { $0 != "?" }
        #expect(try await Browser(suite).get(String(id)).status == 404)
    }

    /// The bank's page of the sandbox: refused, given up, and confirmed; the address is not believed.
    @Test func aBankAsksTheShopper() async throws {
        let suite = try await Suite.shared
        let goods = try await Goods.make(suite)
        let browser = Browser(suite)
        _ = try await browser.post("/bag", ["product": goods.product])
        func ask(_ card: String) async throws -> String {
            var form = Self.address
            form["email"] = Self.email()
            form["attempt"] = try #require(try await browser.get("/checkout").field("attempt"))
            form["card"] = card
            let asked = try await browser.post("/checkout", form)
            #expect(asked.status == 303, "\(asked.html)")
            let place = try #require(asked.location)
            #expect(place.hasPrefix("/checkout/return?attempt="))
            return place
        }
        let asksBank = "tok_authenticationRequiredOnSetup"
        let first = try await ask(asksBank)
        for place in [first, first + "&redirect_status=succeeded"] {
            let page = try await browser.get(place)
            #expect(page.status == 200)
            #expect(page.html.contains("Your bank asks you"), "\(page.html)")
            #expect(page.headers.first(name: "Cache-Control") == "no-store")
        }
        #expect(try await Browser(suite).get(first).location == "/checkout")
        // The checkout leads to the payment that waits, not to a form for another one.
        let again = try #require(try await browser.get("/checkout").location)
        #expect(again == first + "&again=1")
        let choice = try await browser.get(again)
        #expect(choice.html.contains(#"name="confirms""#) && choice.html.contains(#"name="giveUp""#), "\(choice.html)")
        func attempt(_ place: String) -> String { String(place.drop { $0 != "=" }.dropFirst()) }
        let refused = try await browser.post("/checkout/return", ["attempt": attempt(first), "confirms": "0"])
        #expect(refused.location == first)
        let explained = try await browser.get(first)
        #expect(explained.html.contains("Your bank did not confirm the payment"), "\(explained.html)")
        #expect(try #require(explained.field("attempt")) != attempt(first))
        #expect(explained.field("city") == "Springfield")
        #expect(try await browser.get("/badge").html.contains(#""pieces":1"#))

        let second = try await ask(asksBank)
        let givenUp = try await browser.post("/checkout/return", ["attempt": attempt(second), "giveUp": "1"])
        #expect(givenUp.location == "/checkout")
        let declined = try await ask("tok_threeDSecureRequiredChargeDeclined")
        _ = try await browser.post("/checkout/return", ["attempt": attempt(declined), "confirms": "1"])
        #expect(try await browser.get(declined).html.contains("Your card was declined."))

        let third = try await ask(asksBank)
        let confirmed = try await browser.post("/checkout/return", ["attempt": attempt(third), "confirms": "1"])
        #expect(confirmed.location == third)
        let receipt = try #require(try await browser.get(third).location)
        #expect(receipt.hasPrefix("/orders/"))
        #expect(try await browser.get(third).location == receipt)
        #expect(try await browser.get(receipt).html.contains("Thank you"))
        #expect(try await browser.get("/badge").html.contains(#""pieces":0"#))
        let left = try await ParseClient.master(suite).get("/classes/Product/\(goods.product)")
        #expect(left["stock"] == 9)
    }

    /// Stripe's script is allowed on the pages that need it, and on no other page.
    @Test func stripesScriptRunsAtTheCheckoutAlone() async throws {
        try await StripeDouble.with { double in
            let settings = double.settings().merging(["SATCHEL_STRIPE_PUBLISHABLE_KEY": "pk_test_double"]) { $1 }
            try await Suite.with(settings: settings) { suite in
                let goods = try await Goods.make(suite)
                let browser = Browser(suite)
                _ = try await browser.post("/bag", ["product": goods.product])
                func policy(_ page: Browser.Page) -> String {
                    page.headers.first(name: "Content-Security-Policy") ?? ""
                }
                for path in ["/", "/bag", "/account", "/products/x-\(goods.product)"] {
                    let page = try await browser.open(path)
                    #expect(!policy(page).contains("stripe"), "\(path)")
                    #expect(!page.html.contains("js.stripe.com"), "\(path)")
                }
                let checkout = try await browser.get("/checkout")
                #expect(policy(checkout).contains("script-src 'self' https://js.stripe.com"))
                #expect(policy(checkout).contains("frame-src https://js.stripe.com"))
                #expect(checkout.html.contains(#"data-key="pk_test_double""#), "\(checkout.html)")
                var form = Self.address
                form["email"] = Self.email()
                form["attempt"] = try #require(checkout.field("attempt"))
                let without = try await browser.submit("/checkout", form)
                #expect(without.html.contains("Paying by card needs JavaScript"), "\(without.html)")
                form["card"] = "pm_card_threeDSecure2Required"
                let place = try #require(try await browser.post("/checkout", form).location)
                let asked = try await browser.get(place)
                #expect(policy(asked).contains("https://js.stripe.com"))
                #expect(asked.html.contains("_secret_"), "\(asked.html)")
                try await double.authenticate("succeed")
                #expect(try await browser.get(place).location?.hasPrefix("/orders/") == true)
                let state = try await double.state()
                #expect(state.taken == 1)
                #expect(state.violations == [], "\(state.violations)")
            }
        }
    }

    @Test func aGuestSignsUpAndKeepsTheBag() async throws {
        let suite = try await Suite.shared
        let goods = try await Goods.make(suite)
        let browser = Browser(suite)
        _ = try await browser.post("/bag", ["product": goods.product])
        let email = Self.email()
        let form = ["email": email, "password": "a-long-secret", "firstName": "Ann", "next": "//evil.example"]
        let short = try await browser.submit("/sign-up", form.merging(["password": "short"]) { $1 })
        #expect(short.html.contains("6 characters"))
        let signedUp = try await browser.post("/sign-up", form)
        #expect(signedUp.status == 303, "\(signedUp.html)")
        #expect(signedUp.location == "/account")
        #expect(try await browser.get("/account").html.contains(email))
        #expect(try await browser.get("/bag").html.contains("$12.50"))

        // On another device, with a separate bag.
        let other = Browser(suite)
        _ = try await other.post("/bag", ["product": goods.product, "quantity": "2"])
        let wrong = try await other.submit("/log-in", ["email": email, "password": "another-secret"])
        #expect(wrong.html.contains("E-mail or password is wrong."), "\(wrong.html)")
        let guest = other.cookies
        let loggedIn = try await other.post("/log-in", ["email": email, "password": "a-long-secret", "next": "/bag"])
        #expect(loggedIn.location == "/bag", "\(loggedIn.html)")
        #expect(other.cookies != guest)
        #expect(try await other.get("/badge").html.contains(#""signedIn":true"#))
        let out = try await other.post("/log-out", [:])
        #expect(out.status == 303)
        #expect(other.cookies.isEmpty)
        #expect(try await other.get("/account").location?.hasPrefix("/log-in") == true)
        // The first device is still signed in.
        #expect(try await browser.get("/account").status == 200)
    }

    @Test func anotherSitesPageChangesNothing() async throws {
        let suite = try await Suite.shared
        let goods = try await Goods.make(suite)
        let browser = Browser(suite)
        _ = try await browser.post("/bag", ["product": goods.product])
        for site in ["cross-site", "same-site"] {
            let refused = try await browser.post(
                "/bag", ["product": goods.product, "set": "1", "quantity": "0"], from: site)
            #expect(refused.status == 400 || refused.status == 403)
        }
        #expect(try await browser.get("/badge").html.contains(#""pieces":1"#))
        // The cookie counts for pages only.
        let cookie = try #require(browser.cookies.first)
        let api = try await ParseClient(suite).send(
            .GET, "/users/me",
            headers: [
                ("X-Parse-Application-Id", "satchel"), ("Cookie", "\(cookie.key)=\(cookie.value)"),
            ])
        #expect(api.status != 200)
    }

    @Test func anOperatorMayDoWithoutIt() async throws {
        try await Suite.with(settings: ["SATCHEL_STOREFRONT": "false"]) { suite in
            let browser = Browser(suite)
            let start = try await browser.get("/").html
            #expect(start.contains(#"href="/dashboard""#) && start.contains(#"href="/developers""#))
            for path in ["/bag", "/search?q=a", "/products/x-abc"] {
                #expect(try await browser.get(path).status == 404, "\(path)")
            }
        }
    }

    @Test func whatDoesNotExistIsNotFound() async throws {
        let suite = try await Suite.shared
        let goods = try await Goods.make(suite)
        let master = ParseClient.master(suite)
        _ = try await master.call(.PUT, "/classes/Product/\(goods.product)", ["active": false])
        let browser = Browser(suite)
        let paths = [
            "/products/x-\(goods.product)", "/products/none", "/brands/none", "/orders/none", "/bag/x/y", "/account/x",
        ]
        for path in paths {
            #expect(try await browser.get(path).status == 404, "\(path)")
        }
        // A session that has ended is no session.
        let ended = Browser(suite)
        _ = try await ended.post("/bag", ["product": try await Goods.make(suite).product])
        let token = try #require(ended.cookies.values.first)
        _ = try await ParseClient(suite, sessionToken: token).call(.POST, "/logout", [:])
        let bag = try await ended.get("/bag")
        #expect(bag.status == 200)
        #expect(bag.html.contains("Your bag is empty"))
        #expect(ended.cookies.isEmpty)
    }

    @Test func theListIsSortedFilteredAndSearched() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let word = Names.random(10)
        for number in 1...30 {
            _ = try await master.create(
                "Product",
                [
                    "name": .string("\(word) \(String(format: "%02d", number))"), "unitPrice": .int(Int64(number)),
                    "stock": number == 7 ? 0 : 5,
                ])
        }
        let browser = Browser(suite)
        let first = try await browser.get("/search?q=\(word.lowercased())")
        #expect(first.html.contains("30 products"), "\(first.html)")
        #expect(first.html.contains("\(word) 24") && !first.html.contains("\(word) 25"))
        let second = try await browser.get(try #require(first.link("/search?page=2")))
        #expect(second.html.contains("\(word) 30"))
        let dear = try await browser.get("/search?q=\(word)&sort=-unitPrice&min=6&max=8&stock=1")
        #expect(dear.html.contains("2 products"), "\(dear.html)")
        browser.languages = "de-CH,de;q=0.9,en;q=0.5"
        let german = try await browser.get("/search?q=\(word)&min=6&max=6")
        #expect(german.html.contains("6,00 $"), "\(german.html)")
        #expect(german.html.contains(#"<html lang="de">"#))
        // A pattern's own letters are text.
        #expect(try await browser.get("/search?q=.*").html.contains("0 Produkte"))
    }
}
