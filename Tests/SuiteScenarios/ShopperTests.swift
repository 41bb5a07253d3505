import ParseProtocol
import TestSupport
import Testing

/// The main flow: two customers at once browse, sign up, fill a bag, pay and get their mail, without seeing each
/// other's data.
@Suite struct ShopperTests {
    @Test(.timeLimit(.minutes(10)))
    func twoCustomersAtOnceBuyAndSeeNothingOfEachOther() async throws {
        try await Self.twoCustomers(in: try await Suite.shared)
    }

    /// All reads of a customer's flow come from replicas that are not the writer.
    static func twoCustomers(in suite: Suite) async throws {
        let names = (0..<45).map {
            "\(["Dew", "Fig", "Rose"][$0 / 15]) \($0 % 4 == 1 ? "Serum" : "Balm") \(Names.random(4))"
        }
        let shelf = try await Shelf.fill(suite, names: names)
        async let first = buy(suite, shelf)
        async let second = buy(suite, shelf)
        let (ada, bob) = try await (first, second)
        #expect(ada.orders.map { $0["orderNo"] } != bob.orders.map { $0["orderNo"] })
        let numbers = (ada.orders + bob.orders).compactMap { $0["orderNo"]?.intValue }
        #expect(Set(numbers).count == 4)
        try await PrivacyChecks(owner: ada, stranger: bob.signedIn).run()
        try await PrivacyChecks(owner: bob, stranger: ada.signedIn).run()
        try await PrivacyChecks(owner: ada, stranger: ParseClient(suite)).run()

        // 100 pieces of each product and four orders: each customer buys 2 of the first, 1 of the second and 2 of the
        // third.
        try await eventually("stock is what was not sold") {
            var left: [Int64?] = []
            for id in shelf.productIds.prefix(3) {
                left.append(try await bob.signedIn.get("/classes/Product/\(id)")["stock"]?.intValue)
            }
            return left == [96, 98, 96]
        }
    }

    private static func buy(_ suite: Suite, _ shelf: Shelf) async throws -> ShopperFlow {
        var flow = try await ShopperFlow(suite, shelf: shelf)
        try await flow.run()
        return flow
    }
}
