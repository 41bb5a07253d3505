import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Maps with tiles from a host that the operator configured (`Tests/Peers/pages/dashboard_maps.py`).
/// `DashboardShopTests` covers maps without tiles.
@Suite(.serialized) struct DashboardMapTests {
    private static let desk = Desk(settings: [
        "SATCHEL_DASHBOARD_TILES": "https://tiles.example.org/{z}/{x}/{y}.png",
        "SATCHEL_DASHBOARD_TILES_ATTRIBUTION": "© Makers of maps https://maps.example.org/",
    ])

    private static func policy(of path: String) async throws -> [String] {
        let suite = try await desk.suite
        var client = ParseClient(suite)
        client.url = suite.origin
        let page = try await client.send(.GET, path)
        let policy = try #require(page.headers.first(name: "Content-Security-Policy"))
        return policy.components(separatedBy: "; ").filter { $0.contains("tiles.example.org") }
    }

    @Test func thePolicyOfTheDashboardAllowsPicturesOfThatHostAndNothingElse() async throws {
        let rules = try await Self.policy(of: "/dashboard")
        #expect(rules.count == 1)
        #expect(rules.first?.hasPrefix("img-src 'self' blob: ") == true, "\(rules)")
        #expect(rules.first?.hasSuffix(" https://tiles.example.org") == true, "\(rules)")
        #expect(try await Self.policy(of: "/developers") == [])
    }

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func picturesAreBelowTheMap(_ screen: Desk.Screen) async throws {
        let places: [(latitude: JSON, longitude: JSON)] = [(46.95, 7.44), (52.52, 13.4)]
        for (latitude, longitude) in places {
            let place: JSON = ["__type": "GeoPoint", "latitude": latitude, "longitude": longitude]
            let made = try await Customer.admin(Self.desk.suite).create(
                "Store", ["name": .string("Store \(Names.random(6))"), "location": place])
            try #require(made.status == 201, "\(made.text)")
        }
        try await Self.desk.check("tiles", on: screen)
    }
}
