import ParseProtocol
import TestSupport
import Testing

/// The storefront in a browser (`Tests/Peers/pages/storefront.py`).
@Suite struct StorefrontPageTests {
    private static let desk = Desk()

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases, ["en-US", "de-DE"])
    func aShopperBuys(_ screen: Desk.Screen, _ language: String) async throws {
        let word = "Serum \(Names.random(8))"
        _ = try await Shelf.fill(Self.desk.suite, names: [word])
        try await Self.desk.check(
            "shop_buys", on: screen,
            [
                "search": .string(word), "language": .string(language),
                "email": .string("\(Names.random(10).lowercased())@customers.example"),
            ])
    }

    /// A product for one test, and the shopper's address.
    private static func order(_ suite: Suite) async throws -> [String: JSON] {
        let word = "Bank\(Names.random(8))"
        _ = try await Shelf.fill(suite, names: [word])
        return [
            "list": .string("/search?q=\(word)"),
            "email": .string("\(Names.random(10).lowercased())@customers.example"),
        ]
    }

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
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

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func aShopperBrowses(_ screen: Desk.Screen) async throws {
        let word = "Scroll\(Names.random(8))"
        let names = (10..<70).map { "\(word) \($0)" }
        _ = try await Shelf.fill(Self.desk.suite, names: names)
        try await Self.desk.check(
            "shop_browses", on: screen, ["word": .string(word), "list": .string("/search?q=\(word)")])
    }
}
