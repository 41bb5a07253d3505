import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The row of a customer at the order desk, for each way in which its totals change.
@Suite struct CustomerTotalsScenarioTests {
    /// What the desk sees of a customer; nil without a row.
    private static func row(_ suite: Suite, _ userId: String) async throws -> JSON? {
        let answer = try await Customer.admin(suite).run("customers", ["customerId": .string(userId)])
        guard answer.status == 200 else { throw Unexpected("customers", answer) }
        return answer.result.at("results", 0)
    }

    /// The number of orders and the money; nil without a row.
    private static func figures(_ suite: Suite, _ userId: String) async throws -> [Int64]? {
        guard let row = try await row(suite, userId) else { return nil }
        return [row["orders"]?.intValue ?? -1, row["spentMinorUnits"]?.intValue ?? -1]
    }

    private static func shelf(_ suite: Suite) async throws -> Shelf {
        try await Shelf.fill(suite, names: ["Totals \(Names.random(6))"])
    }

    /// An order of two pieces for 7.00.
    private static func order(
        _ client: ParseClient, _ shelf: Shelf, lastName: String = "Long"
    ) async throws -> JSON {
        _ = try await client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        var address = Customer.address
        address["lastName"] = .string(lastName)
        let paid = try await client.run("checkout", ["tokenId": "tok_visa", "shippingAddress": address])
        guard paid.status == 200 else { throw Unexpected("checkout", paid) }
        return .string(paid.result.text("orderId"))
    }

    @Test func ordersRefundsAndCancellationsCountAtOnce() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        let (customer, admin) = (try await Customer.signUp(suite), try await Customer.admin(suite))
        #expect(try await Self.row(suite, customer.userId) == nil)
        let lastName = "Quince\(Names.random(6))"
        let first = try await Self.order(customer.client, shelf, lastName: lastName)
        let second = try await Self.order(customer.client, shelf, lastName: lastName)
        #expect(try await Self.figures(suite, customer.userId) == [2, 1400])

        let refund = try await admin.run("refundOrder", ["orderId": first, "amount": 200])
        #expect(refund.result["refundedNow"] == 200, "\(refund.text)")
        #expect(try await Self.figures(suite, customer.userId) == [2, 1200])
        let cancelled = try await customer.client.run("cancelOrder", ["orderId": second])
        #expect(cancelled.result["refundState"] == "done", "\(cancelled.text)")
        #expect(try await Self.figures(suite, customer.userId) == [1, 500])

        for search in ["ADA \(lastName)", customer.email, "\(lastName.prefix(9)) 415"] {
            let found = try await admin.run("customers", ["search": .string(search), "sort": "-spent", "limit": 5])
            #expect(found.result["count"] == 1, "\(search): \(found.text)")
            #expect(found.result.at("results", 0, "email") == .string(customer.email), "\(found.text)")
        }
    }

    @Test func importedOrdersCountAndFollowTheirCustomer() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let (one, other) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        let date = "2021-03-04T05:06:07.000Z"
        let created = try await master.create(
            "Order",
            [
                "orderNo": .int(.random(in: 1...900_000)), "orderStatus": 1, "total": 1234, "currency": "usd",
                "customer": one.pointer, "shippingAddress": Customer.address,
                "orderDate": ["__type": "Date", "iso": .string(date)],
            ])
        try #require(created.status == 201, "\(created.text)")
        #expect(try await Self.figures(suite, one.userId) == [1, 1234])
        #expect(try await Self.row(suite, one.userId)?.at("lastOrderDate", "iso") == .string(date))
        try await eventually("the account's address is known") {
            try await Self.row(suite, one.userId)?["email"] == .string(one.email)
        }
        let path = "/classes/Order/\(created.objectId)"
        #expect(try await master.call(.PUT, path, ["refundedTotal": 234]).status == 200)
        #expect(try await Self.figures(suite, one.userId) == [1, 1000])
        #expect(try await master.call(.PUT, path, ["customer": other.pointer]).status == 200)
        #expect(try await Self.row(suite, one.userId) == nil)
        #expect(try await Self.figures(suite, other.userId) == [1, 1000])
        #expect(try await master.call(.DELETE, path).status == 200)
        #expect(try await Self.row(suite, other.userId) == nil)
    }

    /// A guest orders and then signs in to an account that has ordered.
    @Test func aGuestsOrdersMoveToTheAccountAndLeaveWithIt() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        let account = try await Customer.signUp(suite)
        _ = try await Self.order(account.client, shelf)
        let (guest, guestId) = try await Customer.anonymous(suite)
        _ = try await Self.order(guest, shelf)
        #expect(try await Self.figures(suite, guestId) == [1, 700])
        let admin = try await Customer.admin(suite)
        let tag = "tag \(Names.random(6))"
        let tagged = try await admin.run("setCustomerTags", ["customerId": .string(guestId), "tags": [.string(tag)]])
        #expect(tagged.status == 200, "\(tagged.text)")

        let login = try await guest.call(
            .POST, "/login", ["username": .string(account.email), "password": .string(account.password)])
        try #require(login.status == 200, "\(login.text)")
        try await eventually("the orders belong to the account") {
            try await Self.figures(suite, account.userId) == [2, 1400]
        }
        #expect(try await Self.row(suite, guestId) == nil)
        #expect(try await Self.row(suite, account.userId)?["tags"] == [.string(tag)])

        let userId = JSON.string(account.userId)
        #expect(try await admin.run("deleteAccount", ["userId": userId]).status == 200)
        try await eventually("the row is gone") { try await Self.row(suite, account.userId) == nil }
        #expect(try await admin.run("customers", ["tag": .string(tag)]).result["count"] == 0)
        #expect(try await admin.run("setCustomerTags", ["customerId": userId, "tags": ["x"]]).code == 101)
    }

    @Test func theDeskTagsAndNotesACustomerWhoSeesNeither() async throws {
        let suite = try await Suite.shared
        let (customer, admin) = (try await Customer.signUp(suite), try await Customer.admin(suite))
        let userId = JSON.string(customer.userId)
        let word = "secretly\(Names.random(6))"
        let tags: JSON = ["customerId": userId, "tags": [.string(word), "VIP"]]
        let wish: JSON = ["customerId": userId, "text": .string("Pays late, \(word).")]
        for (function, parameters) in [
            ("setCustomerTags", tags), ("addCustomerNote", wish), ("customers", [:]),
            ("removeCustomerNote", ["noteId": "x"]),
        ] as [(String, JSON)] {
            #expect(try await customer.client.run(function, parameters).code == 119, "\(function)")
            #expect(try await ParseClient(suite).run(function, parameters).code == 119, "\(function)")
        }
        // A customer without orders.
        #expect(try await admin.run("setCustomerTags", tags).result["tags"]?.arrayValue?.count == 2)
        let note = try await admin.run("addCustomerNote", wish)
        #expect(note.result["text"] == wish["text"], "\(note.text)")
        let row = try #require(try await Self.row(suite, customer.userId))
        #expect(row["orders"] == 0)
        #expect(row["email"] == .string(customer.email))
        #expect(row.at("notes", 0, "noteId") == note.result["noteId"])
        let tagged = try await admin.run("customers", ["tag": .string(word)])
        #expect(tagged.result["count"] == 1, "\(tagged.text)")

        let filter: JSON = ["className": "_User", "objectId": userId]
        var log = ""
        try await eventually("the audit log has both") {
            log = try await admin.run("auditEntries", filter).text
            return log.contains("\"setCustomerTags\"") && log.contains("\"addCustomerNote\"")
        }
        #expect(!log.contains(word), "\(log)")

        let noteId: JSON = ["noteId": note.result["noteId"] ?? .null]
        #expect(try await admin.run("removeCustomerNote", noteId).status == 200)
        #expect(try await admin.run("removeCustomerNote", noteId).code == 101)
        #expect(try await admin.run("setCustomerTags", ["customerId": userId, "tags": []]).status == 200)
        #expect(try await Self.row(suite, customer.userId) == nil)
        for (parameters, code) in [
            (["customerId": userId, "tags": ["a,b"]], 142), (["customerId": "missing", "tags": ["x"]], 101),
        ] as [(JSON, Int)] {
            #expect(try await admin.run("setCustomerTags", parameters).code == code)
        }
        let card: JSON = ["customerId": userId, "text": "4242 4242 4242 4242"]
        #expect(try await admin.run("addCustomerNote", card).code == 142)
    }
}
