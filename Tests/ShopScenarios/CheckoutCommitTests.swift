import ParseProtocol
import TestSupport
import Testing

/// The number of commits per order; each commit waits for the disk. The test has its own suite, because other tests'
/// writes would count.
@Suite struct CheckoutCommitTests {
    private static let orders: Int64 = 20
    /// Maximum number of commits per order, from adding the product to the last outbox message. Bag: the bag, the
    /// checkout, its reservation, the order, and the removal of its outbox messages in one or two commits. Catalog:
    /// reserve, sell. Payments: request, sandbox charge, decision, and the order's number.
    private static let most: [(service: String, commits: Int64)] = [("bag", 6), ("catalog", 2), ("payments", 4)]
    /// Additional commits that a service makes for its own work during all orders.
    private static let others: Int64 = 5

    @Test(.timeLimit(.minutes(10)), .enabled(if: Suite.keepsFiles, "A file counts its commits."))
    func anOrderTakesFewCommitsOfEachService() async throws {
        try await Suite.with(settings: ["SATCHEL_MAILS_PER_RECIPIENT": "0"]) { suite in
            try await suite.untilHealthy()
            let shelf = try await Shelf.fill(suite, names: ["Commit \(Names.random(4))"], stock: 1000)
            let customer = try await Customer.signUp(suite)
            // The first order also stores one-time data.
            try await buy(shelf, customer)
            let before = try await commits(suite)
            for _ in 0..<Self.orders { try await buy(shelf, customer) }
            let after = try await commits(suite)
            for ((service, most), (first, last)) in zip(Self.most, zip(before, after)) {
                #expect(last - first <= most * Self.orders + Self.others, "\(service)")
                // Without this, a counter that never changes would pass the test.
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

    /// The number of commits by service, after all messages are delivered.
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
