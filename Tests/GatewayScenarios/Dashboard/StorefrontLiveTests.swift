import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Open pages of the storefront whose products an operator changes, and the map of stores
/// (`Tests/Peers/pages/storefront/live.py`).
@Suite(.serialized) struct StorefrontLiveTests {
    private static let desk = Desk.shared
    /// Without live queries, and with the tiles of another host.
    static let other = Desk(settings: [
        "SATCHEL_LIVE": "false", "SATCHEL_DASHBOARD_TILES": "https://tiles.example.org/{z}/{x}/{y}.png",
        "SATCHEL_DASHBOARD_TILES_ATTRIBUTION": "© Makers of maps https://maps.example.org/",
    ])

    /// A product for one test.
    private static func product(at desk: Desk) async throws -> [String: JSON] {
        let name = "Live \(Names.random(8))"
        let shelf = try await Shelf.fill(try await desk.suite, names: [name])
        return ["name": .string(name), "product": .string(shelf.productIds[0])]
    }

    private static func placeStore() async throws {
        let place: JSON = ["__type": "GeoPoint", "latitude": 46.95, "longitude": 7.44]
        let made = try await ParseClient.master(try await other.suite).create(
            "Store", ["name": .string("Store \(Names.random(6))"), "city": "Bern", "location": place])
        try #require(made.status == 201, "\(made.text)")
    }

    private static func policy(_ page: Browser.Page) -> String {
        page.headers.first(name: "Content-Security-Policy") ?? ""
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func pricesAndStockFollowWithoutAReload(_ screen: Desk.Screen) async throws {
        try await Self.desk.check("shop_live", on: screen, try await Self.product(at: Self.desk))
    }

    @Test(.timeLimit(.minutes(10))) func withoutLiveQueriesNoPageConnects() async throws {
        try await Self.other.check("shop_live_off", on: .phone, try await Self.product(at: Self.other))
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func theMapAndTheListLeadToEachOther(_ screen: Desk.Screen) async throws {
        try await Self.placeStore()
        try await Self.placeStore()
        try await Self.other.check("shop_map", on: screen)
    }

    @Test func onlyTheStoresPageMayShowTiles() async throws {
        try await Self.placeStore()
        let browser = Browser(try await Self.other.suite)
        let stores = try await browser.get("/stores")
        #expect(stores.status == 200)
        let rules = Self.policy(stores).components(separatedBy: "; ").filter { $0.contains("tiles.example.org") }
        #expect(rules.count == 1 && rules.first?.hasPrefix("img-src 'self' blob: ") == true, "\(rules)")
        #expect(rules.first?.hasSuffix(" https://tiles.example.org") == true, "\(rules)")
        #expect(stores.headers.first(name: "Cache-Control") == "private, no-cache")
        for path in ["/", "/search", "/bag"] {
            let page = try await browser.get(path)
            #expect(page.status == 200)
            #expect(!Self.policy(page).contains("tiles.example.org"), "\(path)")
        }
        let plain = try await Browser(try await Self.desk.suite).get("/stores")
        #expect(!plain.html.contains("<shop-map"), "\(plain.html)")
    }

    /// The page names the application, and neither the session nor another key.
    @Test func theConnectionIsThatOfEveryVisitor() async throws {
        let suite = try await Self.desk.suite
        let product = try #require(try await Self.product(at: Self.desk)["product"]?.stringValue)
        let browser = Browser(suite)
        _ = try await browser.post("/bag", ["product": product])
        let token = try #require(browser.cookies["satchel"])
        for path in ["/products/\(product)", "/bag"] {
            let page = try await browser.open(path)
            let start = #"<shop-live data-path="/parse" data-application="satchel" data-key="" "#
            #expect(page.html.contains(start), "\(page.html)")
            #expect(!page.html.contains(token), "\(path)")
        }
    }
}
