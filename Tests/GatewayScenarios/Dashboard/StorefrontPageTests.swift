import ParseProtocol
import TestSupport
import Testing

/// The storefront in a browser (`Tests/Peers/pages/storefront`).
@Suite struct StorefrontPageTests {
    private static let desk = Desk()

    private static let languages = ["en-US", "de-DE"]

    /// The desk's suite with the demo shop, whose products have pictures.
    private static let demo = Task {
        let suite = try await StorefrontPageTests.desk.suite
        _ = try await Command.run(
            [
                "\(checkoutDirectory)/.build/release/satchel-setup", "demo-shop", "--url", suite.url, "--data",
                "\(checkoutDirectory)/scripts/lib/demo/shop.json",
            ], environment: ["SATCHEL_MASTER_KEY": Suite.masterKey])
        return suite
    }

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases, languages)
    func aShopperBuys(_ screen: Desk.Screen, _ language: String) async throws {
        let suite = try await Self.desk.suite
        var given = try await Self.order(suite)
        given["language"] = .string(language)
        let report = try await Self.desk.check("shop_buys", on: screen, given)
        let order = try #require(report["order"]?.stringValue)
        try await Self.mails(suite, given) { $0.count == 1 && $0.first?.text.contains(order) == true }
    }

    /// Three purchases: a double click on "Pay", a network that goes away before it, and an answer that is lost.
    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases, languages)
    func eachPurchaseIsChargedOnce(_ screen: Desk.Screen, _ language: String) async throws {
        let suite = try await Self.desk.suite
        var given = try await Self.order(suite)
        given["language"] = .string(language)
        try await Self.desk.check("shop_comes_back", on: screen, given)
        let product = given["product"]?.stringValue ?? ""
        let left = try await ParseClient.master(suite).get("/classes/Product/\(product)")
        #expect(left["stock"] == 97, "\(left.text)")
        try await Self.mails(suite, given) { $0.count == 3 }
    }

    /// The order confirmations of the flow's shopper.
    private static func mails(
        _ suite: Suite, _ given: [String: JSON], _ areRight: ([Mail]) -> Bool
    ) async throws {
        let email = given["email"]?.stringValue ?? ""
        try await eventually("the mails to \(email)") {
            areRight(
                suite.mails().filter {
                    $0.header("To")?.contains(email) == true && $0.header("Subject")?.hasPrefix("Your order ") == true
                })
        }
    }

    @Test(
        .timeLimit(.minutes(10)), arguments: ["shop_by_keyboard", "shop_without_script", "shop_faults"],
        Desk.Screen.allCases)
    func everybodyCanShop(_ flow: String, _ screen: Desk.Screen) async throws {
        for language in Self.languages {
            var given = try await Self.order(try await Self.desk.suite)
            given["language"] = .string(language)
            try await Self.desk.check(flow, on: screen, given)
        }
    }

    /// Lighthouse's rules, as far as a script can tell.
    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func thePagesHaveTheirScores(_ screen: Desk.Screen) async throws {
        let browser = Browser(try await Self.demo.value)
        let brand = try #require(try await browser.get("/").link("/brands/"))
        let product = try #require(try await browser.get(brand).link("/products/"))
        let report = try await Self.desk.check(
            "shop_rules", on: screen,
            ["pages": ["home": "/", "brand": .string(brand), "product": .string(product)]])
        print("Scores on a \(screen.rawValue): \(report["scores"]?.serializedText ?? "none")")
    }

    @Test(.timeLimit(.minutes(10)), arguments: zip(Desk.Screen.allCases, languages))
    func everyPageIsAccessible(_ screen: Desk.Screen, _ language: String) async throws {
        let browser = Browser(try await Self.demo.value)
        let home = try await browser.get("/")
        let brand = try #require(home.link("/brands/"))
        let product = try #require(try await browser.get(brand).link("/products/"))
        let company = try #require(try await browser.get("/pages").link("/pages/"))
        let promotion = try #require(home.link("/?p="))
        let pages = [brand, product, "/pages", company, promotion].map { JSON.string($0) }
        try await Self.desk.check(
            "shop_pages", on: screen,
            [
                "language": .string(language), "pages": .array(pages), "product": .string(product),
                "email": .string("\(Names.random(10).lowercased())@customers.example"),
            ])
    }

    /// A product for one test, and the shopper's address.
    private static func order(_ suite: Suite) async throws -> [String: JSON] {
        let word = "Balm\(Names.random(8))"
        let shelf = try await Shelf.fill(suite, names: [word])
        return [
            "list": .string("/search?q=\(word)"), "search": .string(word), "product": .string(shelf.productIds[0]),
            "email": .string("\(Names.random(10).lowercased())@customers.example"),
        ]
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func aShopperConfirmsWithTheBank(_ screen: Desk.Screen) async throws {
        try await Self.desk.check("shop_confirms", on: screen, try await Self.order(Self.desk.suite))
    }

    /// Stripe's own script cannot be loaded in tests: a stub stands for it.
    @Test(.timeLimit(.minutes(10))) func aShopperPaysByStripe() async throws {
        try await StripeDouble.with { double in
            let settings = double.settings().merging(["SATCHEL_STRIPE_PUBLISHABLE_KEY": "pk_test_double"]) { $1 }
            let desk = Desk(settings: settings)
            let suite = try await desk.suite
            var given = try await Self.order(suite)
            given["double"] = .string(double.url)
            try await desk.check("shop_pays_by_stripe", on: .phone, given)
            let state = try await double.state()
            #expect(state.taken == 1)
            #expect(state.violations == [], "\(state.violations)")
            await suite.stop()
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func aShopperBrowses(_ screen: Desk.Screen) async throws {
        let word = "Scroll\(Names.random(8))"
        let names = (10..<70).map { "\(word) \($0)" }
        _ = try await Shelf.fill(Self.desk.suite, names: names)
        try await Self.desk.check(
            "shop_browses", on: screen,
            ["word": .string(word), "list": .string("/search?q=\(word)"), "count": .int(Int64(names.count))])
    }
}
