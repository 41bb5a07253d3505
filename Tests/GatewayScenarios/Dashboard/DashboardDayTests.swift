import Foundation
import ParseProtocol
import TestSupport
import Testing

/// What stopped a new operator who had only `docs/guides/operator.md` (`Tests/Peers/pages/dashboard_day.py`).
@Suite(.serialized) struct DashboardDayTests {
    private static let desk = Desk.shared

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func aNewOperatorFinishesADay(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let shelf = try await Shelf.fill(suite, names: ["Day \(Names.random(6))"])
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        let paid = try await customer.client.run(
            "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        let number = try #require(paid.result["orderNo"])
        let order = try #require(paid.result["orderId"])
        let other = try await Customer.signUp(suite)
        _ = try await other.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let declined = try await other.client.run(
            "checkout", ["tokenId": "tok_chargeDeclined", "shippingAddress": Customer.address])
        #expect(declined.status == 400, "\(declined.text)")
        let bags = try await ParseClient.master(suite).find("Order", ["customer": other.pointer]).results
        let bag = try #require(bags.first)
        try await Self.desk.check(
            "day", on: screen,
            [
                "order": order, "number": number, "bag": .string(bag.text("objectId")),
                "product": .string(shelf.names[0]), "brand": .string(shelf.title), "brandId": .string(shelf.brandId),
            ])
        let admin = try await Customer.admin(suite)
        let cancelled = try await admin.run("cancelOrder", ["orderId": order])
        #expect(cancelled.status == 200, "\(cancelled.text)")
        let refunds = try await admin.run("orderRefunds", ["orderId": order])
        #expect(refunds.result.at(0, "lines", 0, "quantity") == 1)
        // The timeline names the operator who cancelled.
        #expect(refunds.result.at(1, "purpose") == "cancel")
        #expect(refunds.result.at(1, "madeBy")?.stringValue?.isEmpty == false, "\(refunds.text)")
    }
}
