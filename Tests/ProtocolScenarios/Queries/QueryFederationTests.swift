import ParseProtocol
import TestSupport
import Testing

/// Queries whose parts belong to several services answer as if there were one database.
@Suite struct QueryFederationTests {
    /// Waits until the log shows the gateway's calls to the services for one request, by kind.
    private func asked(_ suite: Suite, _ answer: ParseClient.Answer, is expected: [String: Int]) async throws {
        let id = answer.headers["X-Satchel-Request-Id"].first ?? "none"
        var kinds: [String: Int] = [:]
        do {
            try await eventually("the gateway's log shows \(expected)", within: .seconds(10)) {
                kinds = [:]
                for line in suite.logTails(lines: 500, where: { $0.contains(id) && $0.contains("bus.kind=") }).split(
                    separator: "\n")
                {
                    guard let kind = line.split(separator: "bus.kind=").last?.split(separator: " ").first,
                        !line.hasPrefix("---")
                    else { continue }
                    if !kind.hasPrefix("users.session") { kinds[String(kind), default: 0] += 1 }
                }
                return kinds == expected
            }
        } catch {
            Issue.record("asked \(kinds) instead of \(expected)")
        }
    }

    /// Sub-queries over three levels and four services, includes over three levels and three services: one call each.
    @Test func oneRequestTravelsPerOwnerAndLevel() async throws {
        try await Suite.with(settings: ["SATCHEL_LOG_LEVEL": "debug"]) { suite in
            let shelf = try await Shelf.fill(suite, names: ["In", "Out"].map { "\($0) \(Names.random(4))" })
            let customer = try await Customer.signUp(suite)
            for id in shelf.productIds {
                _ = try await customer.client.run("addToBag", ["productId": .string(id), "quantity": 2])
            }
            let brand: JSON = ["className": "Category", "where": ["title": .string(shelf.title)]]
            func item(_ product: JSON) -> JSON {
                [
                    "className": "OrderItem",
                    "where": ["product": ["$inQuery": ["className": "Product", "where": product]]],
                ]
            }
            let condition: JSON = [
                "$or": [
                    ["items": ["$inQuery": item(["brand": ["$inQuery": brand]])]],
                    ["items": ["$inQuery": item(["name": .string(shelf.names[1])])]],
                ],
                "customer": ["$inQuery": ["className": "_User", "where": ["objectId": .string(customer.userId)]]],
            ]
            let found = try await customer.client.find(
                "Order", condition, ["include": "items.product.brand,customer", "count": 1])
            let order = try #require(found.results.first, "\(found.text)")
            #expect(found["count"] == 1)
            #expect(order.at("items", 1, "product", "brand", "title") == .string(shelf.title))
            #expect(order.at("customer", "email") == .string(customer.email))
            try await asked(
                suite, found,
                is: [
                    "catalog.lookup.v1": 2,  // Category, then both queries on Product.
                    "bag.lookup.v1": 1, "users.lookup.v1": 1, "bag.find.v1": 1,
                    "bag.fetch.v1": 1, "users.fetch.v1": 1, "catalog.fetch.v1": 2,
                ])
            let none = try await customer.client.find(
                "Order",
                ["customer": ["$notInQuery": ["className": "_User", "where": ["objectId": .string(customer.userId)]]]])
            #expect(none.status == 200)
            #expect(none.results.isEmpty)
        }
    }

    /// A relation of a catalog class to users: its members are found in the users service, with the rights of both
    /// services.
    @Test func relationsReachOtherServices() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let (ada, bob) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        let className = "Club\(Names.random(6))"
        let club = try await master.create(
            className, ["name": "club", "fans": ["__op": "AddRelation", "objects": [ada.pointer, bob.pointer]]])
        try #require(club.status == 201, "\(club.text)")
        let related: JSON = ["$relatedTo": ["object": .pointer(className, club.objectId), "key": "fans"]]
        func ids(
            _ client: ParseClient, _ condition: JSON, _ options: [String: JSON] = ["count": 1]
        ) async throws -> (Set<String>, JSON?) {
            let answer = try await client.find("_User", condition, options)
            #expect(answer.status == 200, "\(answer.text)")
            return (Set(answer.results.map(\.objectId)), answer["count"])
        }
        #expect(try await ids(master, related) == ([ada.userId, bob.userId], 2))
        var tunnelled = master
        tunnelled.style = .tunnelled
        #expect(try await ids(tunnelled, related, ["limit": 0, "count": 1]) == ([], 2))
        // A user sees only the users that this user may read.
        #expect(try await ids(ada.client, related) == ([ada.userId], 1))
        let narrowed = related.objectValue?.merging(["email": .string(bob.email)]) { $1 } ?? [:]
        #expect(try await ids(master, .object(narrowed)) == ([bob.userId], 1))
        // The members as a sub-query of another class.
        let tickets = "Ticket\(Names.random(6))"
        for holder in [ada, bob] {
            _ = try await master.create(tickets, ["holder": holder.pointer, "name": .string(holder.email)])
        }
        _ = try await master.call(
            .PUT, "/classes/\(className)/\(club.objectId)",
            ["fans": ["__op": "RemoveRelation", "objects": [bob.pointer]]])
        let holders: JSON = ["holder": ["$inQuery": ["className": "_User", "where": related]]]
        #expect(try await master.find(tickets, holders).results.map { $0["name"] } == [.string(ada.email)])
        // A missing object has no members; a relation to another class has none of this class.
        for other: JSON in [
            ["object": .pointer(className, "missing123"), "key": "fans"],
            ["object": .pointer(className, club.objectId), "key": "name"],
            ["object": .pointer("Nothing\(Names.random(6))", "x"), "key": "fans"],
        ] {
            #expect(try await ids(master, ["$relatedTo": other]) == ([], 0))
        }
        for bad: JSON in [
            ["object": 1, "key": "fans"], ["object": .pointer(className, club.objectId), "key": "a'b"], 5,
        ] {
            #expect(try await master.find("_User", ["$relatedTo": bad]).code == 102)
        }
        #expect(try await ids(master, ["$or": [related]]) == ([ada.userId], 1))
    }

    /// Sorting and filtering by a field of a pointed-to object works within a service; across services it gives a clear
    /// error.
    @Test func ordersByAFieldOfAPointedToObject() async throws {
        let suite = try await Suite.shared
        let first = try await Shelf.fill(suite, names: ["b", "a"].map { "\($0) \(Names.random(4))" })
        let second = try await Shelf.fill(suite, names: ["c \(Names.random(4))"])
        let client = ParseClient(suite)
        let both: JSON = ["brand.title": ["$in": [.string(first.title), .string(second.title)]]]
        let shelves = [first, second].sorted { $0.title < $1.title }
        for (order, expected) in [
            ("brand.title,name", shelves.flatMap { $0.names.sorted() }),
            ("-brand.title,-name", shelves.flatMap { $0.names.sorted() }.reversed()),
        ] {
            let found = try await client.find(
                "Product", both, ["order": .string(order), "include": "brand", "keys": "name,brand.title"])
            #expect(found.results.map { $0.text("name") } == expected, "\(found.text)")
            #expect(found.results.allSatisfy { $0.at("brand", "__type") == "Object" })
        }
        #expect(
            try await client.find("Product", ["brand.title": .string(first.title)], ["limit": 0, "count": 1])["count"]
                == 2)
        let customer = try await Customer.signUp(suite)
        for (condition, order) in [(["customer.email": "x"], ""), ([:], "-customer.email")] as [(JSON, String)] {
            let refused = try await customer.client.find("Order", condition, ["order": .string(order)])
            #expect(refused.code == 102, "\(refused.text)")
            #expect(refused.text.contains("_User"), "\(refused.text)")
        }
        let items = try await customer.client.find("OrderItem", ["product.name": "x"])
        #expect(items.code == 102, "\(items.text)")
        #expect(items.text.contains("Product"), "\(items.text)")
        let reviews = try await client.find("ProductReview", ["user.email": "x"])
        #expect(reviews.code == 102, "\(reviews.text)")
        #expect(reviews.text.contains("_User"), "\(reviews.text)")
    }
}
