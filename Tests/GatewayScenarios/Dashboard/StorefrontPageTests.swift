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

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func aShopperBrowses(_ screen: Desk.Screen) async throws {
        let word = "Scroll\(Names.random(8))"
        let names = (10..<70).map { "\(word) \($0)" }
        _ = try await Shelf.fill(Self.desk.suite, names: names)
        try await Self.desk.check(
            "shop_browses", on: screen, ["word": .string(word), "list": .string("/search?q=\(word)")])
    }
}
