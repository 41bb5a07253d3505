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
}
