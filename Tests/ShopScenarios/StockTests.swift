import ParseProtocol
import TestSupport
import Testing

/// Stock is never sold twice, and is released when a payment fails.
@Suite struct StockTests {
    @Test func theLastPieceGoesToExactlyOneOfManyCustomers() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Last \(Names.random(4))"], stock: 1)
        let answers = try await withThrowingTaskGroup(of: ParseClient.Answer.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let customer = try await Customer.signUp(suite)
                    _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
                    return try await customer.client.run(
                        "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.filter { $0.status == 200 }.count == 1, "\(answers.map(\.text))")
        for refused in answers where refused.status != 200 {
            #expect(refused.code == 142)
            #expect(refused.json.text("error").hasSuffix(" is sold out."), "\(refused.text)")
        }
        let product = try await ParseClient(suite).get("/classes/Product/\(shelf.productIds[0])")
        #expect(product["stock"]?.intValue == 0)
    }

    @Test func aBagTellsWhyALineCannotBeBought() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let shelf = try await Shelf.fill(suite, names: (0..<4).map { "Line \($0) \(Names.random(4))" }, stock: 5)
        let customer = try await Customer.signUp(suite)
        for id in shelf.productIds {
            _ = try await customer.client.run("addToBag", ["productId": .string(id), "quantity": 2])
        }
        for (id, change) in zip(
            shelf.productIds, [["active": false], ["stock": 0], ["stock": 1], ["stock": 2]] as [JSON])
        {
            #expect(try await master.call(.PUT, "/classes/Product/\(id)", change).status == 200)
        }
        let bag = try await customer.client.run("bag").result
        var lines: [String: JSON] = [:]
        for line in bag["items"]?.arrayValue ?? [] { lines[line.at("product", "objectId")?.stringValue ?? ""] = line }
        let expected: [(JSON, JSON, JSON?)] = [
            (false, "notForSale", nil), (false, "soldOut", nil), (false, "tooFew", 1), (true, "available", nil),
        ]
        for (id, (isAvailable, availability, left)) in zip(shelf.productIds, expected) {
            #expect(lines[id]?["available"] == isAvailable, "\(bag.serializedText)")
            #expect(lines[id]?["availability"] == availability)
            #expect(lines[id]?["left"] == left)
        }
    }

    @Test func aDeclinedCardPutsTheGoodsBack() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Back \(Names.random(4))"], stock: 2)
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        for _ in 0..<2 {
            let refused = try await customer.client.run(
                "checkout", ["tokenId": "tok_chargeDeclined", "shippingAddress": Customer.address])
            #expect(refused.code == 141, "\(refused.text)")
            #expect(refused.json.at("details", "code") == "card_declined")
            try await eventually("the goods are back") {
                try await customer.client.get("/classes/Product/\(shelf.productIds[0])")["stock"]?.intValue == 2
            }
        }
        let paid = try await customer.client.run(
            "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        #expect(paid.status == 200, "\(paid.text)")
    }

    /// A double tap: the same checkout sent many times at once leads to one order and one charge.
    @Test func aDoubleTapBuysOnce() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Tap \(Names.random(4))"], stock: 50)
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let bodies = try await withThrowingTaskGroup(of: ParseClient.Answer.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    try await customer.client.run(
                        "checkout",
                        ["tokenId": "tok_visa", "idempotencyKey": "tap", "shippingAddress": Customer.address])
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(bodies.allSatisfy { $0.status == 200 }, "\(bodies.map(\.text))")
        #expect(Set(bodies.map(\.body)).count == 1)
        let charges = try await suite.rows(
            "payments", "SELECT count(*) FROM charges WHERE userId = '\(customer.userId)' AND state = 'succeeded'")
        #expect(charges.first?.at(0)?.intValue == 1)
        #expect(try await customer.client.find("Order", ["orderStatus": 1]).results.count == 1)
    }
}
