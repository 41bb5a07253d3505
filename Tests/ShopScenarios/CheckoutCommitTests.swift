import ParseProtocol
import TestSupport
import Testing

/// The price of an order in commits, each of which waits for the disk. A suite of its own: others' writes would count.
@Suite struct CheckoutCommitTests {
    private static let orders: Int64 = 20
    /// Commits of one order, from the product in the bag to the last message of the outbox. Bag: the bag, the checkout,
    /// its reservation, the order, and what became of its messages, which are struck off together or in two parts.
    /// Catalog: reserved, sold. Payments: wanted, taken by the sandbox, decided, and the order's number.
    private static let most: [(service: String, commits: Int64)] = [("bag", 6), ("catalog", 2), ("payments", 4)]
    /// Commits of the services' own in the time of all orders.
    private static let others: Int64 = 5

    @Test(.timeLimit(.minutes(10)), .enabled(if: Suite.keepsFiles, "A file counts its commits."))
    func anOrderTakesFewCommitsOfEachService() async throws {
        try await Suite.with(settings: ["SATCHEL_MAILS_PER_RECIPIENT": "0"]) { suite in
            try await suite.untilHealthy()
            let shelf = try await Shelf.fill(suite, names: ["Commit \(Names.random(4))"], stock: 1000)
            let customer = try await Customer.signUp(suite)
            // The first order also stores what there is once.
            try await buy(shelf, customer)
            let before = try await commits(suite)
            for _ in 0..<Self.orders { try await buy(shelf, customer) }
            let after = try await commits(suite)
            for ((service, most), (first, last)) in zip(Self.most, zip(before, after)) {
                #expect(last - first <= most * Self.orders + Self.others, "\(service)")
                // Without this a counter that stands still would prove anything.
                #expect(last - first >= Self.orders, "\(service)")
            }
        }
    }

    private func buy(_ shelf: Shelf, _ customer: Customer) async throws {
        let added = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        try #require(added.status == 200, "\(added.text)")
        let bought = try await customer.client.run(
            "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        try #require(bought.status == 200, "\(bought.text)")
    }

    /// The numbers of commits, by service, once no message is on its way.
    private func commits(_ suite: Suite) async throws -> [Int64] {
        try await eventually("every message has arrived") {
            try await suite.rows("bag", "SELECT count(*) FROM outbox").first?.at(0)?.intValue == 0
        }
        var commits: [Int64] = []
        for (service, _) in Self.most {
            let rows = try await suite.rows(service, "SELECT generation FROM storeIdentity")
            commits.append(try #require(rows.first?.at(0)?.intValue))
        }
        return commits
    }
}
