import ParseProtocol
import TestSupport

/// The suite that the tests of breaks share: the gateway on one host, the services on three.
enum Hosts {
    static var shared: HostSuite { get async throws { try await start.value } }

    private static let start = Task {
        try await HostSuite.start(
            [
                HostSuite.Place(
                    "a", ["gateway-1", "payments-1", "mail-1", "push-1", "analytics-1", "crash-1", "cloud-1"]),
                HostSuite.Place("b", ["users-1", "bag-1"]),
                HostSuite.Place("c", ["catalog-1"]),
                HostSuite.Place("d", ["catalog-2"], disk: "c"),
            ], settings: settings)
    }

    /// All hosts of a test are one kernel's, so that a gateway would take their boards for its own host's. What was
    /// made in a test is looked at in one page.
    static let settings = ["SATCHEL_READ_CACHE": "off", "SATCHEL_LIMIT_MAX": "100000"]

    /// The settings of a suite that keeps everything in a database. Each customer buys more often than an address that
    /// is not verified is written to.
    static func settingsInDatabase(_ connection: String) -> [String: String] {
        settings.merging([
            "SATCHEL_DATABASE": connection, "SATCHEL_QUOTAS": "carts=off;classes=off;fields=off",
            "SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0",
        ]) { _, setting in setting }
    }
}

/// A customer who has put a thing into the bag and pays for it once, however often that takes asking.
struct Purchase: Sendable {
    let customer: Customer
    private let key = Names.random(20)

    static func prepare(_ suite: Suite, _ shelf: Shelf) async throws -> Purchase {
        let customer = try await Customer.signUp(suite)
        let added = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        guard added.status == 200 else { throw Unexpected("addToBag", added) }
        return Purchase(customer: customer)
    }

    /// As many, each of a customer of its own.
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
