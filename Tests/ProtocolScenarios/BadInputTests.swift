import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Invalid requests: each gets the right code and status, and changes nothing.
@Suite struct BadInputTests {
    /// A request that must be refused. `{product}`, `{order}`, `{others}` and `{user}` stand for real ids.
    struct Refused: Sendable, CustomTestStringConvertible {
        let what: String
        let method: HTTPMethod
        let path: String
        let body: String
        let status: Int
        let code: Int

        init(_ what: String, _ method: HTTPMethod, _ path: String, _ body: String, _ status: Int = 400, code: Int) {
            (self.what, self.method, self.path, self.body, self.status, self.code) = (
                what, method, path, body, status, code
            )
        }

        init(_ what: String, _ path: String, _ body: String, _ status: Int = 400, code: Int) {
            self.init(what, .POST, path, body, status, code: code)
        }

        var testDescription: String { what }
    }

    private static let address =
        #"{"firstName":"A","lastName":"B","phone":"1","address1":"C","city":"D","state":"E","zipcode":"F"}"#

    static let cases: [Refused] = [
        Refused("malformed JSON", "/classes/Note", #"{"a":"#, code: 107),
        Refused("an array for a body", "/classes/Note", "[1]", code: 107),
        Refused("bytes that are no text", "/classes/Note", "\u{0}\u{1}", code: 107),
        Refused("a 10,000-deep array", "/classes/Note", #"{"a":"# + String(repeating: "[", count: 10_000), code: 107),
        Refused(
            "an object past 128 KB", "/classes/Note", #"{"a":""# + String(repeating: "x", count: 140_000) + #""}"#,
            code: 116),
        Refused("a bad class name", "/classes/No-te", "{}", code: 103),
        Refused("an internal class", "/classes/_Hooks", "{}", code: 119),
        Refused("a bad field name", "/classes/Note", #"{"a-b":1}"#, code: 105),
        Refused("a nested key with a dollar", "/classes/Note", #"{"a":{"$b":1}}"#, code: 121),
        Refused("a forbidden key", "/classes/Note", #"{"a":{"b":{"__proto__":1}}}"#, code: 105),
        Refused("an unknown operation", "/classes/Note", #"{"a":{"__op":"Explode"}}"#, code: 108),
        Refused("an increment by a text", "/classes/Note", #"{"a":{"__op":"Increment","amount":"1"}}"#, code: 107),
        Refused("an ACL that is no ACL", "/classes/Note", #"{"ACL":{"*":{"read":"yes"}}}"#, code: 123),
        Refused("an unknown function", "/functions/nothing", "{}", code: 141),
        Refused("an unknown product", "/functions/addToBag", #"{"productId":"nothing"}"#, 404, code: 101),
        Refused("a product id that is an object", "/functions/addToBag", #"{"productId":{"$ne":1}}"#, code: 142),
        Refused("no product", "/functions/addToBag", "{}", code: 142),
        Refused("quantity 0", "/functions/addToBag", #"{"productId":"{product}","quantity":0}"#, code: 142),
        Refused("quantity -1", "/functions/addToBag", #"{"productId":"{product}","quantity":-1}"#, code: 142),
        Refused("quantity 1.5", "/functions/addToBag", #"{"productId":"{product}","quantity":1.5}"#, code: 142),
        Refused("quantity 10^9", "/functions/addToBag", #"{"productId":"{product}","quantity":1000000000}"#, code: 142),
        Refused("quantity as text", "/functions/addToBag", #"{"productId":"{product}","quantity":"2"}"#, code: 142),
        Refused(
            "quantity past 999 in sum", "/functions/addToBag", #"{"productId":"{product}","quantity":999}"#, code: 142),
        Refused("quantity -1 set", "/functions/setBagQuantity", #"{"productId":"{product}","quantity":-1}"#, code: 142),
        Refused(
            "an item of quantity 10^9", "/classes/OrderItem",
            #"{"quantity":1000000000,"product":{"__type":"Pointer","className":"Product","objectId":"{product}"}}"#,
            code: 142),
        Refused(
            "an item of no product", "/classes/OrderItem",
            #"{"quantity":1,"product":{"__type":"Pointer","className":"Product","objectId":"nothing"}}"#, 404, code: 101
        ),
        Refused(
            "an amount that does not match", "/functions/checkout",
            #"{"tokenId":"tok_visa","amount":1,"shippingAddress":\#(address)}"#, code: 142),
        Refused(
            "an amount of another kind", "/functions/checkout",
            #"{"tokenId":"tok_visa","amount":"350","shippingAddress":\#(address)}"#, code: 142),
        Refused("no card", "/functions/checkout", #"{"shippingAddress":\#(address)}"#, code: 142),
        Refused(
            "an unknown card token", "/functions/checkout",
            #"{"tokenId":"tok_nothing","shippingAddress":\#(address)}"#, code: 141),
        Refused(
            "somebody else's order", "/functions/chargeCustomer", #"{"orderId":"{others}","customerId":"cus_x"}"#, 404,
            code: 101),
        Refused(
            "somebody else's order by token", "/functions/ChargeToken",
            #"{"orderId":"{others}","chargeToken":"tok_visa"}"#, 404, code: 101),
        Refused(
            "an unknown order", "/functions/ChargeToken", #"{"orderId":"nothing","chargeToken":"tok_visa"}"#, 404,
            code: 101),
        Refused(
            "a card number as customer", "/functions/chargeCustomer",
            #"{"orderId":"{order}","customerId":"4242 4242 4242 4242"}"#, code: 142),
        Refused(
            "a card number as token", "/functions/checkout",
            #"{"tokenId":"4242424242424242","shippingAddress":\#(address)}"#, code: 142),
        Refused(
            "a card number in a payment method", "/classes/PaymentMethod", #"{"type":"4242-4242-4242-4242"}"#, code: 142
        ),
        Refused(
            "a card number in the note of an order", .PUT, "/classes/Order/{order}", #"{"note":"4242424242424242"}"#,
            code: 142),
        Refused("a total of the client's", .PUT, "/classes/Order/{order}", #"{"total":1}"#, code: 119),
        Refused("a status of the client's", .PUT, "/classes/Order/{order}", #"{"orderStatus":1}"#, code: 119),
        Refused("a number of the client's", .PUT, "/classes/Order/{order}", #"{"orderNo":1}"#, code: 119),
        Refused("a payment of the client's", .PUT, "/classes/Order/{order}", #"{"stripePaymentId":"ch_1"}"#, code: 119),
        Refused(
            "another customer for the order", .PUT, "/classes/Order/{order}",
            #"{"customer":{"__type":"Pointer","className":"_User","objectId":"nobody1234"}}"#, code: 119),
        Refused("an admin by a flag", .PUT, "/users/{user}", #"{"isAdmin":true}"#, code: 119),
        Refused("a verified address by a flag", .PUT, "/users/{user}", #"{"emailVerified":true}"#, code: 119),
        Refused(
            "a rating of 6", "/classes/ProductReview",
            #"{"rating":6,"content":"x","product":{"__type":"Pointer","className":"Product","objectId":"{product}"}}"#,
            code: 142),
        Refused(
            "a favourite of no product", "/classes/FavoriteProduct",
            #"{"product":{"__type":"Pointer","className":"Product","objectId":"nothing"}}"#, 404, code: 101),
        Refused("an event name of blanks alone", "/events/%20%20", "{}", code: 160),
        Refused("a dimension that is a number", "/events/Tap", #"{"dimensions":{"a":1}}"#, code: 111),
        Refused("an installation without ids", "/installations", #"{"deviceType":"ios"}"#, code: 135),
        Refused("an installation without a type", "/installations", #"{"installationId":"abc"}"#, code: 135),
        Refused(
            "an installation with an operator for an id", "/installations",
            #"{"deviceType":"ios","deviceToken":{"$regex":"."}}"#, code: 111),
        Refused(
            "another user's installation", "/installations",
            #"""
            {"deviceType":"ios","installationId":"abcd","user":{"__type":"Pointer","className":"_User",\#
            "objectId":"nobody1234"}}
            """#,
            code: 119),
    ]

    @Test(.timeLimit(.minutes(10))) func isRefusedAndChangesNothing() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Plain \(Names.random(4))"], stock: 5)
        let customer = try await Customer.signUp(suite)
        let other = try await Customer.signUp(suite)
        let product: JSON = ["productId": .string(shelf.productIds[0])]
        let order = try await customer.client.run("addToBag", product).result.text("orderId")
        let others = try await other.client.run("addToBag", product).result.text("orderId")
        try #require(!order.isEmpty)
        try #require(!others.isEmpty)
        let ids = ["{product}": shelf.productIds[0], "{order}": order, "{others}": others, "{user}": customer.userId]
        func filled(_ text: String) -> String {
            ids.reduce(text) { $0.replacingOccurrences(of: $1.key, with: $1.value) }
        }

        let before = try await picture(suite, customer, other, shelf)
        for refused in Self.cases {
            let answer = try await customer.client.send(
                refused.method, filled(refused.path),
                headers: customer.client.credentials + [("Content-Type", "application/json")],
                body: Array(filled(refused.body).utf8))
            let text = "\(refused.what): \(answer.status) \(answer.text.prefix(300))"
            #expect(answer.status == refused.status, "\(text)")
            #expect(answer.code == refused.code, "\(text)")
            #expect(!answer.text.contains("4242"), "\(text)")
        }
        let after = try await picture(suite, customer, other, shelf)
        for (old, new) in zip(before, after) { #expect(old.serializedText == new.serializedText) }
        #expect(!suite.logTails(lines: 100_000).contains("4242424242424242"))
    }

    /// All data that the refused requests could have changed.
    private func picture(_ suite: Suite, _ customer: Customer, _ other: Customer, _ shelf: Shelf) async throws -> [JSON]
    {
        var answers: [JSON] = []
        for client in [customer.client, other.client] {
            let bag = try await client.run("bag").result
            answers += ["orderId", "badgeCount", "subtotalMinorUnits"].compactMap { bag[$0] }
            for className in ["Order", "OrderItem", "PaymentMethod", "FavoriteProduct"] {
                answers.append(try await client.find(className).json)
            }
            answers.append(try await client.get("/users/me").json)
        }
        // Without `updatedAt`: stock reserved for a failing payment is released, which updates the product.
        for id in shelf.productIds {
            let product = try await other.client.get("/classes/Product/\(id)")
            answers += ["name", "stock", "unitPrice", "ratingCount"].map { product[$0] ?? .null }
        }
        let charges = try await suite.rows(
            "payments", "SELECT count(*) FROM charges WHERE userId = '\(customer.userId)' AND state = 'succeeded'")
        return answers + charges
    }

    @Test func aBodyPastTheLimitIsRefused() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let megabyte = #"{"a":""# + String(repeating: "x", count: 1 << 20) + #""}"#
        let answer = try await client.send(
            .POST, "/classes/Note", headers: client.credentials, body: Array(megabyte.utf8))
        #expect([400, 413].contains(answer.status), "\(answer.status) \(answer.text.prefix(200))")
        #expect(answer.code == 116, "\(answer.status) \(answer.text.prefix(200))")
    }

    @Test func aTypeConflictIsNamed() async throws {
        let client = ParseClient(try await Suite.shared)
        let className = "Score\(Names.random(6))"
        let created = try await client.create(className, ["points": 1])
        try #require(created.status == 201)
        let refused = try await client.create(className, ["points": "one"])
        #expect(refused.status == 400)
        #expect(refused.code == 111)
        #expect(refused.json.text("error") == "schema mismatch for \(className).points; expected Number but got String")
        let path = "/classes/\(className)/\(created.objectId)"
        #expect(try await client.call(.PUT, path, ["points": ["__op": "Add", "objects": [1]]]).code == 111)
        #expect(try await client.get(path)["points"] == 1)
    }

    /// Invalid queries. None may return the database's own error texts.
    static let queries: [(String, Int)] = [
        (#"{"a":{"$foo":1}}"#, 107), (#"{"a":{"$in":1}}"#, 107), (#"{"$or":{}}"#, 102), (#"{"ACL":1}"#, 102),
        (#"{"a'b":1}"#, 105), (#"{"a":{"$regex":"("}}"#, 102), (#"{"a":{"$regex":"a","$options":"q"}}"#, 102),
        (#"{"a":{"$inQuery":{"where":{}}}}"#, 102), (#"{"a":{"$select":{"key":"x"}}}"#, 102), ("[]", 102),
        ("{", 107),
    ]

    @Test(arguments: queries) func aBadQueryIsRefused(condition: String, code: Int) async throws {
        let answer = try await ParseClient(try await Suite.shared).find("Product", .string(condition))
        #expect(answer.status == 400, "\(condition): \(answer.text)")
        #expect(answer.code == code, "\(condition): \(answer.text)")
        #expect(!answer.text.lowercased().contains("sqlite"))
    }

    @Test func unknownOptionsAreRefused() async throws {
        let client = ParseClient(try await Suite.shared)
        #expect(try await client.find("Product", [:], ["colour": 1]).code == 102)
        #expect(try await client.find("Product", [:], ["limit": -1]).status == 400)
        #expect(try await client.find("Product", [:], ["skip": "x"]).status == 400)
        #expect(try await client.get("/classes/Product/x", ["limit": 1]).code == 102)
    }
}
