import ParseProtocol
import TestSupport

/// Operators with one role.
extension Desk {
    /// A user who just joined a role.
    func member(of role: String) async throws -> Customer {
        let suite = try await suite
        let person = try await Customer.signUp(suite)
        let master = ParseClient.master(suite)
        let found = try await master.find("_Role", ["name": .string(role)])
        guard let id = found.results.first?.text("objectId") else { throw Unexpected("find of \(role)", found) }
        let joined = try await master.call(
            .PUT, "/roles/\(id)", ["users": ["__op": "AddRelation", "objects": [person.pointer]]])
        guard joined.status == 200 else { throw Unexpected("PUT of \(role)", joined) }
        return person
    }

    /// The parts of the dashboard that a role sees.
    struct Share: Sendable, CustomStringConvertible {
        let role: String
        /// Menu entries in order, after the first view.
        let entries: [String]
        /// Texts that the first view contains.
        let cards: [String]
        /// A view that the role may not see.
        let foreign: String

        var description: String { role }
    }

    static let shares = [
        Share(
            role: "catalog-editors", entries: ["Products", "Reviews", "Data"],
            cards: ["few left|of every product|no products", "review|No customer"], foreign: "/orders"),
        Share(
            role: "order-desk", entries: ["Orders", "Customers", "Discount codes"],
            cards: ["to ship", "Payments declined"], foreign: "/products"),
        Share(
            role: "support", entries: ["Orders", "Reviews", "Customers", "Discount codes", "Crashes"],
            cards: ["to ship", "review|No customer", "Mails that failed"], foreign: "/analytics"),
        Share(
            role: "developers", entries: ["Analytics", "Data", "Storefront", "Crashes", "Operations"],
            cards: ["Net sales today", "Services"], foreign: "/operations/audit"),
    ]

    /// The paths that a role's operators use every day, with data in each.
    func paths(of share: Share) async throws -> [String] {
        let suite = try await suite
        switch share.role {
        case "catalog-editors":
            let shelf = try await Shelf.fill(suite, names: ["Path \(Names.random(6))"])
            return [
                "/products", "/products/\(shelf.productIds[0])", "/brands", "/stores", "/pages", "/reviews",
                "/reviews?show=all", "/data", "/data/Product", "/data/console",
            ]
        case "developers":
            return [
                "/analytics", "/analytics?show=requests", "/crashes", try await crashPath(), "/data", "/data/Product",
                "/data/Product/schema", "/data/Product/permissions", "/data/console", "/operations",
                "/operations/logs", "/operations/jobs", "/operations/functions", "/operations/functions/checkout",
                "/operations/webhooks", "/operations/config", "/operations/parked",
            ]
        default:
            let (customer, orderNo) = try await paid()
            let orders = try await ParseClient.master(suite).find("Order", ["orderNo": orderNo]).results
            let order = "/orders/\(orders.first?.text("objectId") ?? "")"
            let both = [
                "/orders", order, "/customers", "/customers/\(customer.userId)", "/codes", "/operations/parked",
            ]
            guard share.role == "support" else { return both }
            let never = try await Customer.signUp(suite)
            return both + [
                "/customers?show=accounts&search=ada", "/customers/\(never.userId)", "/reviews?show=all", "/crashes",
                try await crashPath(),
            ]
        }
    }

    private func crashPath() async throws -> String {
        "/crashes/\(try await crashed().issues().first?.text("issueId") ?? "")"
    }
}
