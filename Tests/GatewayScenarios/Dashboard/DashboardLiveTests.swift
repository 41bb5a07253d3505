import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Open views whose data other clients change (`Tests/Peers/pages/dashboard_live.py`).
@Suite(.serialized) struct DashboardLiveTests {
    private static let desk = Desk()
    private static let deskWithout = StorefrontLiveTests.other

    /// A shopper and some products.
    private static func shopping(at desk: Desk) async throws -> [String: JSON] {
        let suite = try await desk.suite
        let shelf = try await Shelf.fill(suite, names: ["Live \(Names.random(6))"])
        let shopper = try await Customer.signUp(suite)
        return [
            "shopper": .string(try #require(shopper.client.sessionToken)), "product": .string(shelf.productIds[0]),
            "address": Customer.address,
        ]
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func newOrdersAndStatesAppearWithoutAReload(_ screen: Desk.Screen) async throws {
        let given = try await Self.shopping(at: Self.desk)
        try await Self.desk.check("live_orders", on: screen, given)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func anOrderThatAnotherOperatorChangesIsShownAsItBecomes(_ screen: Desk.Screen) async throws {
        let (_, orderNo) = try await Self.desk.paid()
        let orders = try await Customer.admin(Self.desk.suite).find("Order", ["orderNo": orderNo]).results
        let order = try #require(orders.first?.text("objectId"))
        try await Self.desk.check("live_order", on: screen, ["order": .string(order)])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func stockFollowsAndWhatSomebodyTypesStays(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let word = "Live\(Names.random(6))"
        let shelf = try await Shelf.fill(suite, names: [word])
        try await Self.desk.check(
            "live_products", on: screen, ["search": .string(word), "product": .string(shelf.productIds[0])])
        let product = try await Customer.admin(suite).get("/classes/Product/\(shelf.productIds[0])")
        #expect(product["stock"] == 43)
        #expect(product["name"] == "A third name", "What another operator wrote was overwritten.")
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func rowsThatOthersChangedAreCountedAndShownWhenWanted(_ screen: Desk.Screen) async throws {
        let name = try await Self.desk.makeClass()
        let shelf = try await Shelf.fill(Self.desk.suite, names: ["Live \(Names.random(6))"])
        try await Self.desk.fill(name, rows: 5, owner: shelf.brandId)
        try await Self.desk.check("live_rows", on: screen, ["class": .string(name)])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func aRevokedSessionEndsTheConnection(_ screen: Desk.Screen) async throws {
        try await Self.desk.check("live_session", on: screen)
    }

    /// A connection attempt that fails would be an error in the console.
    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func aServerWithoutLiveQueriesIsNotAskedForThem(_ screen: Desk.Screen) async throws {
        let given = try await Self.shopping(at: Self.deskWithout)
        try await Self.deskWithout.check("live_off", on: screen, given)
    }
}
