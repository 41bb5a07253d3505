import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A catalog, and a bag service, in PostgreSQL with three replicas that write at once.
@Suite(.serialized) struct SeveralWritersTests {
    private static func with(
        _ service: String = "catalog", scale: String, _ body: (Suite) async throws -> Void
    ) async throws {
        let settings = [
            "SATCHEL_DATABASE": try await PostgreSQLServer.shared.newDatabase(),
            "SATCHEL_\(service.uppercased())_WRITERS": "every",
            "SATCHEL_QUOTAS": "off", "SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0",
        ]
        try await Suite.with(scale: scale, settings: settings) { suite in
            try await suite.untilHealthy(replicas: [service: 3])
            try await eventually("three replicas take changes", within: .seconds(30)) {
                try await ParseClient(suite).call(.GET, "/health").json.at("services", .member(service), "current") == 3
            }
            try await body(suite)
        }
    }

    /// Retries while the answer says that nothing was done.
    private static func untilTaken(
        _ request: () async throws -> ParseClient.Answer
    ) async throws -> ParseClient.Answer {
        let end = ContinuousClock.now + .seconds(60)
        while true {
            let answer = try await request()
            guard [429, 503].contains(answer.status), ContinuousClock.now < end else { return answer }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Sends many requests, 16 at a time: more could exceed the time limit of a request on a busy machine.
    private static func together(
        _ count: Int, _ request: @escaping @Sendable (Int) async throws -> ParseClient.Answer
    ) async throws -> [ParseClient.Answer] {
        try await withThrowingTaskGroup(of: ParseClient.Answer.self) { group in
            var answers: [ParseClient.Answer] = []
            for number in 0..<count {
                if number >= 16, let answer = try await group.next() { answers.append(answer) }
                group.addTask { try await untilTaken { try await request(number) } }
            }
            return try await group.reduce(into: answers) { $0.append($1) }
        }
    }

    @Test(.timeLimit(.minutes(10))) func tenPiecesGoToTenOfTwoHundredShoppers() async throws {
        try await Self.with(scale: "catalog=3") { suite in
            let shelf = try await Shelf.fill(suite, names: ["Ten \(Names.random(4))"], stock: 10)
            let product = shelf.productIds[0]
            var customers: [Customer] = []
            for _ in 0..<10 {
                customers += try await withThrowingTaskGroup(of: Customer.self) { group in
                    for _ in 0..<20 { group.addTask { try await Customer.signUp(suite) } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            let shoppers = customers
            let full = try await Self.together(shoppers.count) {
                try await shoppers[$0].client.run("addToBag", ["productId": .string(product)])
            }
            #expect(full.count { $0.status == 200 } == shoppers.count)
            // Some customers cannot pay: their reservations are released.
            let declined = try await Self.together(20) {
                try await shoppers[$0].client.run(
                    "checkout", ["tokenId": "tok_chargeDeclined", "shippingAddress": Customer.address])
            }
            #expect(declined.count { $0.status == 200 } == 0, "\(declined.map(\.text))")
            try await eventually("the goods are back", within: .seconds(30)) {
                try await ParseClient(suite).get("/classes/Product/\(product)")["stock"] == 10
            }

            let answers = try await Self.together(shoppers.count) {
                try await shoppers[$0].client.run(
                    "checkout",
                    ["tokenId": "tok_visa", "idempotencyKey": "once", "shippingAddress": Customer.address])
            }
            let made = answers.filter { $0.status == 200 }
            #expect(made.count == 10, "\(Set(answers.map { $0.text.prefix(120) }))")
            #expect(answers.count { $0.status != 200 && $0.code == 142 } == shoppers.count - made.count)
            #expect(try await ParseClient(suite).get("/classes/Product/\(product)")["stock"] == 0)
            let orders = try await ParseClient.master(suite).find("Order", ["orderStatus": 1], ["limit": 1000]).results
            let numbers = orders.compactMap { $0["orderNo"]?.intValue }.sorted()
            #expect(numbers.count == 10)
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 }, "\(numbers)")
        }
    }

    /// The same favourite added many times at once exists once; concurrent increments add up; subscribers receive each
    /// change in the order of the object's versions; and each replica writes.
    @Test(.timeLimit(.minutes(10))) func changesOfAllReplicasAreOneHistory() async throws {
        try await Self.with(scale: "catalog=3") { suite in
            let shelf = try await Shelf.fill(suite, names: ["Liked \(Names.random(4))"])
            let customer = try await Customer.signUp(suite)
            let master = ParseClient.master(suite)
            let favorite: JSON = [
                "customer": .pointer("_User", customer.userId), "product": .pointer("Product", shelf.productIds[0]),
            ]
            // With the master key, the requests go to the least loaded replica.
            let favorites = try await Self.together(30) { _ in try await master.create("FavoriteProduct", favorite) }
            #expect(Set(favorites.map(\.status)).isSubset(of: [200, 201]), "\(Set(favorites.map(\.text)))")
            #expect(Set(favorites.map(\.objectId)).count == 1)
            #expect(try await master.find("FavoriteProduct", favorite).results.count == 1)

            let name = "Tally\(Names.random(6))"
            let tally = try await master.create(name, ["count": 0]).objectId
            let live = try await LiveConnection.connect(suite, ["masterKey": .string(Suite.masterKey)])
            #expect(try await live.subscribe(1, name)["op"] == "subscribed")
            let additions = 240
            let writers = WritingProcesses(suite, "catalog")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<24 {
                    group.addTask {
                        for number in 0..<(additions / 24) {
                            let added = try await Self.untilTaken {
                                try await master.call(
                                    .PUT, "/classes/\(name)/\(tally)",
                                    ["count": ["__op": "Increment", "amount": 1]])
                            }
                            #expect(added.status == 200, "\(added.text)")
                            let made = try await Self.untilTaken {
                                try await master.create(name, ["text": .string("\(lane)-\(number)")])
                            }
                            #expect(made.status == 201, "\(made.text)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await master.get("/classes/\(name)/\(tally)")["count"]?.intValue == Int64(additions))

            var counts: [Int64] = []
            var texts: Set<String> = []
            while counts.count < additions || texts.count < additions {
                let event = try await live.nextEvent(of: 1)
                if let text = event.at("object", "text")?.stringValue { texts.insert(text) }
                if event["op"] == "update", let count = event.at("object", "count")?.intValue { counts.append(count) }
            }
            #expect(counts == Array(1...Int64(additions)))

            // Repeats until three different connections were seen to write.
            try await eventually("three replicas change data", within: .seconds(60)) {
                let made = try await Self.together(24) { try await master.create(name, ["more": .int(Int64($0))]) }
                #expect(made.count { $0.status == 201 } == made.count)
                return writers.seen >= 3
            }
            try await writers.stop()
        }
    }

    /// Concurrent additions to one bag add up, lines that an app saves itself all exist, each bag becomes one order,
    /// and each replica writes.
    @Test(.timeLimit(.minutes(10))) func bagsAreFilledByEveryReplica() async throws {
        try await Self.with("bag", scale: "bag=3") { suite in
            let names = (0..<3).map { "Thing \($0) \(Names.random(4))" }
            let shelf = try await Shelf.fill(suite, names: names, stock: 100_000)
            let customers = try await withThrowingTaskGroup(of: Customer.self) { group in
                for _ in 0..<24 { group.addTask { try await Customer.signUp(suite) } }
                return try await group.reduce(into: [Customer]()) { $0.append($1) }
            }
            let writers = WritingProcesses(suite, "bag")
            // Each product five times for each customer, all at once.
            let rounds = 5
            let added = try await Self.together(customers.count * names.count * rounds) { number in
                let customer = customers[number % customers.count]
                let product = shelf.productIds[number / customers.count % names.count]
                return try await customer.client.run("addToBag", ["productId": .string(product)])
            }
            #expect(added.count { $0.status == 200 } == added.count, "\(Set(added.map { $0.text.prefix(120) }))")
            let master = ParseClient.master(suite)
            for customer in customers {
                let mine: JSON = ["customer": .pointer("_User", customer.userId)]
                let open = try await master.find("Order", mine).results
                #expect(open.count == 1, "There is one bag.")
                let items = try await master.find("OrderItem", mine).results
                #expect(items.count == names.count)
                #expect(items.compactMap { $0["quantity"]?.intValue } == Array(repeating: Int64(rounds), count: 3))
            }
            // The same checkout over two connections: one order each.
            let bought = try await Self.together(customers.count * 2) { number in
                try await customers[number % customers.count].client.run(
                    "checkout",
                    ["tokenId": "tok_visa", "idempotencyKey": "once", "shippingAddress": Customer.address])
            }
            #expect(bought.count { $0.status == 200 } == bought.count, "\(Set(bought.map { $0.text.prefix(120) }))")
            let paid = try await master.find("Order", ["orderStatus": 1], ["limit": 1000]).results
            #expect(paid.count == customers.count)
            let numbers = paid.compactMap { $0["orderNo"]?.intValue }.sorted()
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 }, "\(numbers)")
            // Repeats until three different connections were seen to write.
            try await eventually("three replicas change data", within: .seconds(60)) {
                // A hash of the customer chooses the replica: new guests may have another one.
                let more = try await Self.together(customers.count) { _ in
                    let guest = try await Customer.anonymous(suite).client
                    return try await guest.run("addToBag", ["productId": .string(shelf.productIds[0])])
                }
                #expect(more.count { $0.status == 200 } == more.count, "\(Set(more.map { $0.text.prefix(120) }))")
                return writers.seen >= 3
            }
            try await writers.stop()
        }
    }

    /// Each replica of bag, including the leader, is killed in turn while customers buy.
    @Test(.timeLimit(.minutes(10))) func booksBalanceWhenOneThatFillsBagsIsKilled() async throws {
        try await Self.with("bag", scale: "bag=3") { suite in
            try await Self.buy(suite, whileKilling: "bag")
        }
    }

    /// The same with the catalog.
    @Test(.timeLimit(.minutes(10))) func booksBalanceWhenOneOfTheWritersIsKilled() async throws {
        try await Self.with(scale: "catalog=3,bag=2") { suite in
            try await Self.buy(suite, whileKilling: "catalog")
        }
    }

    private static func buy(_ suite: Suite, whileKilling service: String) async throws {
        let names = (0..<4).map { "Item \($0) \(Names.random(4))" }
        let shelf = try await Shelf.fill(suite, names: names, stock: 1_000_000)
        let crowd = try await Crowd(suite, shelf: shelf, count: 4)
        crowd.gatewayMayFail()
        try await crowd.buyWhile {
            for replica in (1...3).map({ "\(service)-\($0)" }) {
                try await suite.kill(replica)
                let answered = crowd.checkouts
                try await eventually("customers go on after \(replica)", within: .seconds(60)) {
                    crowd.checkouts >= answered + 3
                }
            }
        }
        try await suite.untilHealthy(replicas: [service: 3])
        try await crowd.verify()
    }
}
