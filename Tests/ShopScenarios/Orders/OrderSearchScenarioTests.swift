import ParseProtocol
import TestSupport
import Testing

/// The order desk's search, for each way in which an order gets or loses its words.
@Suite struct OrderSearchScenarioTests {
    /// A name or place that no other test uses.
    private static func word() -> String { "Quince\(Names.random(8))" }

    private static func shelf(_ suite: Suite) async throws -> Shelf {
        try await Shelf.fill(suite, names: ["Search \(Names.random(6))"])
    }

    /// An order for 3.50 each piece.
    private static func order(
        _ client: ParseClient, _ shelf: Shelf, quantity: Int64 = 1, _ more: JSON
    ) async throws -> JSON {
        _ = try await client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": .int(quantity)])
        var address = Customer.address
        for (name, value) in more.objectValue ?? [:] { address[name] = value }
        let paid = try await client.run("checkout", ["tokenId": "tok_visa", "shippingAddress": address])
        guard paid.status == 200 else { throw Unexpected("checkout", paid) }
        return .string(paid.result.text("orderId"))
    }

    /// The result of `orders`.
    private static func list(_ suite: Suite, _ parameters: JSON) async throws -> JSON {
        let answer = try await Customer.admin(suite).run("orders", parameters)
        guard answer.status == 200 else { throw Unexpected("orders", answer) }
        return answer.result
    }

    /// The ids of all orders that a search finds, newest first.
    private static func found(_ suite: Suite, _ search: String) async throws -> [JSON] {
        let result = try await list(suite, ["search": .string(search)])
        let ids = (result["results"]?.arrayValue ?? []).map { JSON.string($0.objectId) }
        #expect(result["count"] == .int(Int64(ids.count)), "\(result.serializedText)")
        return ids
    }

    @Test func theDeskFindsAnOrderByAnyOfItsWords() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        let (customer, admin) = (try await Customer.signUp(suite), try await Customer.admin(suite))
        let (lastName, city) = (Self.word(), Self.word())
        let details: JSON = ["lastName": .string(lastName), "city": .string(city)]
        let first = try await Self.order(customer.client, shelf, details)
        let second = try await Self.order(customer.client, shelf, quantity: 2, details)
        for search in [
            lastName, String(lastName.dropLast(3)), "ADA \(lastName.uppercased())", city, "\(lastName) \(city)",
            customer.email, String(customer.email.prefix(9)), "\(city) 62701", "\(lastName) 1415555",
        ] {
            #expect(try await Self.found(suite, search) == [second, first], "\(search)")
        }
        #expect(try await Self.found(suite, "\(lastName) Nobody").isEmpty)
        #expect(try await Self.found(suite, String(lastName.dropFirst(3))).isEmpty)

        let number = try #require(try await admin.get("/classes/Order/\(first.stringValue ?? "")")["orderNo"]?.intValue)
        #expect(try await Self.found(suite, "№ \(number) \(city)") == [first])
        let tracking = "TR-\(Names.random(10))"
        let shipment: JSON = ["orderId": first, "carrier": "Post", "trackingNumber": .string(tracking)]
        #expect(try await admin.run("shipOrder", shipment).status == 200)
        #expect(try await Self.found(suite, tracking) == [first])

        let search = JSON.string(lastName)
        for (status, order) in [("made", second), ("shipped", first)] {
            let result = try await Self.list(suite, ["search": search, "status": .string(status)])
            #expect(result["count"] == 1, "\(status)")
            #expect(result.at("results", 0, "objectId") == order, "\(status)")
        }
        let byTotal = try await Self.list(suite, ["search": search, "sort": "total", "limit": 1, "skip": 1])
        #expect(byTotal["count"] == 2)
        #expect(byTotal.at("results", 0, "objectId") == second)
        #expect(byTotal.at("results", 0, "items", 0, "name") == .string(shelf.names[0]))
        #expect(byTotal.at("results", 0, "contact", "email") == .string(customer.email))
        for client in [customer.client, ParseClient(suite)] {
            #expect(try await client.run("orders", ["search": search]).code == 119)
        }
        for wrong in [["search": 7], ["sort": "weight"]] as [JSON] {
            #expect(try await admin.run("orders", wrong).code == 142, "\(wrong.serializedText)")
        }
    }

    @Test func importedOrdersAreFoundWhileTheyExist() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let (lastName, other) = (Self.word(), Self.word())
        func address(_ name: String) -> JSON { ["firstName": "Ida", "lastName": .string(name)] }
        let created = try await master.create(
            "Order",
            [
                "orderNo": .int(.random(in: 1...900_000)), "orderStatus": 1, "total": 1234, "currency": "usd",
                "shippingAddress": address(lastName),
            ])
        try #require(created.status == 201, "\(created.text)")
        let path = "/classes/Order/\(created.objectId)"
        #expect(try await Self.found(suite, "ida \(lastName)") == [.string(created.objectId)])
        #expect(try await master.call(.PUT, path, ["shippingAddress": address(other)]).status == 200)
        #expect(try await Self.found(suite, lastName).isEmpty)
        #expect(try await Self.found(suite, other) == [.string(created.objectId)])
        #expect(try await master.call(.DELETE, path).status == 200)
        #expect(try await Self.found(suite, other).isEmpty)
    }

    /// A guest orders and then signs in to an account, which is deleted later.
    @Test func aDeletedAccountLeavesOnlyTheNumberOfItsOrders() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        let account = try await Customer.signUp(suite)
        let (guest, _) = try await Customer.anonymous(suite)
        let lastName = Self.word()
        let order = try await Self.order(guest, shelf, ["lastName": .string(lastName)])
        #expect(try await Self.found(suite, lastName) == [order])
        let login = try await guest.call(
            .POST, "/login", ["username": .string(account.email), "password": .string(account.password)])
        try #require(login.status == 200, "\(login.text)")
        let admin = try await Customer.admin(suite)
        let path = "/classes/Order/\(order.stringValue ?? "")"
        try await eventually("the order belongs to the account") {
            try await admin.get(path)["customer"] == account.pointer
        }
        #expect(try await Self.found(suite, lastName) == [order])
        let number = try #require(try await admin.get(path)["orderNo"]?.intValue)
        #expect(try await admin.run("deleteAccount", ["userId": .string(account.userId)]).status == 200)
        try await eventually("the name is gone") { try await Self.found(suite, lastName).isEmpty }
        #expect(try await Self.found(suite, "\(number)").contains(order))
    }
}
