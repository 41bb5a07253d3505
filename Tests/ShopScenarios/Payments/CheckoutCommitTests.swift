import ParseProtocol
import TestSupport
import Testing

/// The number of commits per order; each commit waits for the disk. The test has its own suite, because other tests'
/// writes would count.
@Suite struct CheckoutCommitTests {
    /// Orders in a round.
    private static let orders: Int64 = 5
    /// Maximum number of commits per order, from adding the product to the last outbox message. Bag: the bag, the
    /// checkout, its reservation, the order, and the removal of its outbox messages in one or two commits. Catalog:
    /// reserve, sell. Payments: request, sandbox charge, decision, and the order's number.
    private static let most: [(service: String, commits: Int64)] = [("bag", 6), ("catalog", 2), ("payments", 4)]
    /// Additional commits that a service makes for its own work during a round.
    private static let others: Int64 = 1

    @Test(.timeLimit(.minutes(10)), .enabled(if: Suite.keepsFiles, "A file counts its commits."))
    func anOrderTakesFewCommitsOfEachService() async throws {
        try await Suite.with(settings: ["SATCHEL_MAILS_PER_RECIPIENT": "0"]) { suite in
            try await suite.untilHealthy()
            let shelf = try await Shelf.fill(suite, names: ["Commit \(Names.random(4))"], stock: 1000)
            let customer = try await Customer.signUp(suite)
            // The first order also stores one-time data.
            try await buy(shelf, customer)
            let limits = Self.most.map { $0.commits * Self.orders + Self.others }
            var least = [Int64](repeating: .max, count: limits.count)
            var before = try await commits(suite)
            // Periodic work and late messages can only add commits, so the minimum of several rounds counts.
            for _ in 0..<12 where !zip(least, limits).allSatisfy({ $0 <= $1 }) {
                for _ in 0..<Self.orders { try await buy(shelf, customer) }
                let after = try await commits(suite)
                let made = zip(before, after).map { $1 - $0 }
                // Without this, a counter that never changes would pass the test.
                #expect(made.allSatisfy { $0 >= Self.orders }, "\(made)")
                least = zip(least, made).map { min($0, $1) }
                before = after
            }
            for ((service, _), (made, limit)) in zip(Self.most, zip(least, limits)) {
                #expect(made <= limit, "\(service)")
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
