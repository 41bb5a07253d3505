import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Every view is accessible: with a keyboard, a screen reader, a small screen, in light and dark mode.
@Suite(.serialized) struct DashboardAccessTests {
    private static let desk = Desk.shared

    /// Checks names, roles, contrast, target sizes and the focus order on every view
    /// (`Tests/Peers/pages/browser_checks.py`).
    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func everyViewIsAccessible(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let (customer, orderNo) = try await Self.desk.paid()
        let orders = try await ParseClient.master(suite).find("Order", ["orderNo": orderNo]).results
        let order = try #require(orders.first?.text("objectId"))
        let admin = try await Customer.admin(suite)
        _ = try await admin.run("addOrderNote", ["orderId": .string(order), "text": "Called."])
        _ = try await admin.run("saveDeskView", ["list": "orders", "name": "All"])
        let paths: [JSON] = [
            "", "/orders", "/orders/sheets/picking-list", "/charges", "/mails", "/pushes",
            .string("/orders/\(order)"),
            .string("/orders/sheets/invoice?orders=\(order)"), "/products", "/reviews?show=all", "/customers",
            .string("/customers/\(customer.userId)"), "/customers?show=accounts&search=ada", "/team", "/own",
            "/nowhere",
        ]
        let shop = try await Self.desk.shopPaths() + Self.desk.schemaPaths()
        try await Self.desk.checkAccess(to: paths + shop, on: screen, withGrid: true)
    }

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func statisticsAndRowsAreAccessible(_ screen: Desk.Screen) async throws {
        _ = try await Self.desk.paid()
        try await Self.desk.comeBack()
        let name = try await Self.desk.makeClass()
        try await Self.desk.fill(name, rows: 50, owner: "brand00001")
        let filter = "%5B%5B%22count%22,%22number%22,%22below%22,%2240%22,%22%22%5D%5D"
        let paths: [JSON] = [
            "/analytics?compare=yes", "/analytics?show=usage", "/analytics?show=events&event=Search&dimension=word",
            "/analytics?show=funnel&view=Look", "/analytics?show=requests", "/analytics?show=retention&by=day",
            "/data", .string("/data/\(name)"),
            .string("/data/\(name)?sort=-count&filter=\(filter)"),
        ]
        try await Self.desk.checkAccess(to: paths, on: screen)
    }
}
