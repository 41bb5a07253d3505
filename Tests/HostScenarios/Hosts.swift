import ParseProtocol
import TestSupport

/// The suite that the network tests share: the gateway on one host, the services on three.
enum Hosts {
    static var shared: HostSuite { get async throws { try await start.value } }

    private static let start = Task {
        try await HostSuite.start(
            [
                HostSuite.Place(
                    "a", ["gateway-1", "payments-1", "mail-1", "push-1", "analytics-1", "crash-1", "cloud-1", "web-1"]),
                HostSuite.Place("b", ["users-1", "bag-1"]),
                HostSuite.Place("c", ["catalog-1"]),
                HostSuite.Place("d", ["catalog-2"], disk: "c"),
            ], settings: settings)
    }

    /// All test hosts share one kernel, so a gateway would treat their boards as local; hence no read cache.
    /// Verification reads all created objects in one page.
    static let settings = ["SATCHEL_READ_CACHE": "off", "SATCHEL_LIMIT_MAX": "100000"]

    /// The settings of a suite that stores everything in a database. Each customer orders more often than the mail
    /// limit for unverified addresses allows.
    static func settingsInDatabase(_ connection: String) -> [String: String] {
        settings.merging([
            "SATCHEL_DATABASE": connection, "SATCHEL_QUOTAS": "carts=off;classes=off;fields=off",
            "SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0",
        ]) { _, setting in setting }
    }
}

/// A customer with a product in the bag who pays once, with as many retries as needed.
struct Purchase: Sendable {
    let customer: Customer
    private let key = Names.random(20)

    static func prepare(_ suite: Suite, _ shelf: Shelf) async throws -> Purchase {
        let customer = try await Customer.signUp(suite)
        let added = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        guard added.status == 200 else { throw Unexpected("addToBag", added) }
        return Purchase(customer: customer)
    }

    /// Prepares `count` purchases, each by a new customer.
    static func prepare(_ suite: Suite, _ shelf: Shelf, count: Int) async throws -> [Purchase] {
        try await withThrowingTaskGroup(of: Purchase.self) { group in
            for _ in 0..<count { group.addTask { try await prepare(suite, shelf) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private init(customer: Customer) { self.customer = customer }

    func pay() async throws -> ParseClient.Answer {
        try await customer.client.run(
            "checkout",
            ["tokenId": "tok_visa", "idempotencyKey": .string(key), "shippingAddress": Customer.address])
    }
}
