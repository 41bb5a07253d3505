import ParseProtocol
import TestSupport
import Testing

/// Discount codes from the bag to the refund, and their limits while customers race and processes die.
@Suite struct DiscountTests {
    private static func code() -> String { "D-\(Names.random(10).uppercased())" }

    private static func create(_ suite: Suite, _ definition: JSON) async throws -> String {
        var definition = definition
        let code = code()
        definition["discountCode"] = .string(code)
        let made = try await Customer.admin(suite).run("createDiscountCode", definition)
        guard made.status == 200 else { throw Unexpected("createDiscountCode", made) }
        return code
    }

    private static func uses(_ suite: Suite, _ code: String) async throws -> JSON? {
        try await Customer.admin(suite).run("discountCodes", ["discountCode": .string(code)]).result.at(
            "results", 0, "uses")
    }

    private static func order(_ code: String, token: JSON = "tok_visa", key: String? = nil) -> JSON {
        var order: JSON = [
            "tokenId": token, "shippingAddress": Customer.address, "discountCode": .string(code.lowercased()),
        ]
        order["idempotencyKey"] = key.map(JSON.string)
        return order
    }

    /// A customer with one piece for 3.50 in the bag.
    private static func shopper(_ suite: Suite, _ shelf: Shelf) async throws -> Customer {
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        return customer
    }

    @Test func aCodeGoesFromTheBagToTheRefund() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: (0..<2).map { "Discount \($0) \(Names.random(4))" })
        let code = try await Self.create(suite, ["percent": 20, "brandId": .string(shelf.brandId), "usesMax": 10])
        let customer = try await Customer.signUp(suite)
        let client = customer.client
        #expect(try await client.run("setDiscountCode", ["discountCode": .string(code)]).code == 142)
        _ = try await client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        _ = try await client.run("addToBag", ["productId": .string(shelf.productIds[1])])

        let unknown = try await client.run("setDiscountCode", ["discountCode": "NO-SUCH-CODE"])
        #expect(unknown.code == 142, "\(unknown.text)")
        #expect(unknown.json.at("details", "code") == "discount_unknown")
        #expect(try await client.run("bag").result["discountCode"] == nil)
        let bag = try await client.run("setDiscountCode", ["discountCode": .string(code.lowercased())])
        #expect(bag.result["discountCode"] == .string(code), "\(bag.text)")
        #expect(bag.result["subtotalMinorUnits"] == 1900)
        #expect(bag.result["discountMinorUnits"] == 380)
        #expect(bag.result["totalMinorUnits"] == 1520)
        #expect(try await client.run("bag").result == bag.result)
        #expect(try await client.run("setDiscountCode").result["totalMinorUnits"] == 1900)
        _ = try await client.run("setDiscountCode", ["discountCode": .string(code)])

        var parameters: JSON = ["tokenId": "tok_visa", "shippingAddress": Customer.address]
        parameters["discuontCode"] = .string(code)
        let misspelt = try await client.run("checkout", parameters)
        #expect(misspelt.code == 142)
        #expect(misspelt.json.at("details", "parameter") == "discuontCode")
        parameters["discuontCode"] = nil
        let paid = try await client.run("checkout", parameters)
        #expect(paid.result["totalMinorUnits"] == 1520, "\(paid.text)")
        #expect(paid.result["discountMinorUnits"] == 380)
        let id = paid.result.text("orderId")
        let charged = try await suite.rows("payments", "SELECT amount FROM charges WHERE orderId = '\(id)'")
        #expect(charged == [[1520]])
        #expect(try await Self.uses(suite, code) == 1)
        let order = try await client.get("/classes/Order/\(id)", ["include": "items"])
        #expect(order["total"] == 1520)
        #expect(order["discountCode"] == .string(code))
        let item = order.json.at("items", 0, "objectId") ?? .null
        let admin = try await Customer.admin(suite)
        let refunded = try await admin.run(
            "refundOrder", ["orderId": .string(id), "lines": [["itemId": item, "quantity": 1]]])
        #expect(refunded.result["refundedNow"] == 280, "\(refunded.text)")
        try await eventually("the confirmation shows the discount", within: .seconds(20)) {
            suite.mails().contains {
                $0.header("To")?.contains(customer.email) == true
                    && $0.text.contains("Discount \(code): -$3.80") && $0.text.contains("Total: $15.20")
            }
        }
    }

    @Test func theDeskSearchesCodes() async throws {
        let suite = try await Suite.shared
        let code = try await Self.create(suite, ["percent": 5])
        let admin = try await Customer.admin(suite)
        let found = try await admin.run("discountCodes", ["search": .string(String(code.dropFirst().lowercased()))])
        #expect(found.result["count"] == 1, "\(found.text)")
        #expect(found.result.at("results", 0, "discountCode") == .string(code))
        // A wildcard is a character like any other.
        #expect(try await admin.run("discountCodes", ["search": "%"]).result["count"] == 0)
        #expect(try await Customer.signUp(suite).client.run("discountCodes", ["search": "A"]).code == 119)
    }

    @Test func aCodeThatEndsIsShownInTheBagAndRefusedAtTheCheckout() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Ending \(Names.random(4))"])
        let code = try await Self.create(suite, ["amountMinorUnits": 100])
        let client = try await Self.shopper(suite, shelf).client
        _ = try await client.run("setDiscountCode", ["discountCode": .string(code)])
        let admin = try await Customer.admin(suite)
        let ended = try await admin.run("updateDiscountCode", ["discountCode": .string(code), "active": false])
        #expect(ended.result["amountMinorUnits"] == 100, "\(ended.text)")
        let bag = try await client.run("bag").result
        #expect(bag["totalMinorUnits"] == 350)
        #expect(bag.at("discountProblem", "details", "code") == "discount_inactive")
        let parameters: JSON = ["tokenId": "tok_visa", "shippingAddress": Customer.address]
        let refused = try await client.run("checkout", parameters)
        #expect(refused.json.at("details", "code") == "discount_inactive", "\(refused.text)")
        _ = try await client.run("setDiscountCode", ["discountCode": .null])
        #expect(try await client.run("checkout", parameters).result["totalMinorUnits"] == 350)
    }

    /// T8d
    @Test func twentyCustomersRaceForFiveUses() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Race \(Names.random(4))"])
        let code = try await Self.create(suite, ["percent": 10, "usesMax": 5])
        let answers = try await withThrowingTaskGroup(of: ParseClient.Answer.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await Self.shopper(suite, shelf).client.run("checkout", Self.order(code))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let paid = answers.filter { $0.status == 200 }
        #expect(paid.count == 5)
        #expect(paid.allSatisfy { $0.result["totalMinorUnits"] == 315 })
        for refused in answers where refused.status != 200 {
            #expect(refused.json.at("details", "code") == "discount_exhausted", "\(refused.text)")
        }
        #expect(try await Self.uses(suite, code) == 5)
    }

    /// T8d: customers with good and declined cards race for six uses while bag and payments are killed. Afterwards
    /// exactly six orders have the discount.
    @Test(.timeLimit(.minutes(10))) func aKilledProcessNeitherLosesNorDoublesAUse() async throws {
        try await Suite.with(scale: "bag=2,payments=2") { suite in
            try await suite.untilHealthy(replicas: ["bag": 2, "payments": 2])
            let shelf = try await Shelf.fill(suite, names: ["Kill \(Names.random(4))"])
            let code = try await Self.create(suite, ["percent": 10, "usesMax": 6])
            var customers: [Customer] = []
            for _ in 0..<16 { customers.append(try await Self.shopper(suite, shelf)) }
            var paid = try await withThrowingTaskGroup(of: Bool.self) { [customers] group in
                for (index, customer) in customers.enumerated() {
                    let token: JSON = index.isMultiple(of: 3) ? "tok_chargeDeclined" : "tok_visa"
                    group.addTask { try await Self.decided(customer, Self.order(code, token: token, key: "first")) }
                }
                for replica in ["payments-1", "bag-1", "payments-2", "bag-2", "payments-1", "bag-1"] {
                    try await suite.kill(replica)
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            try await suite.untilHealthy(replicas: ["bag": 2, "payments": 2])
            #expect(try await Self.uses(suite, code) == .int(Int64(paid)))
            // Uses that a declined card held meanwhile are free again.
            for _ in 0..<7 {
                let late = try await Self.shopper(suite, shelf)
                if try await Self.decided(late, Self.order(code, key: "late")) { paid += 1 }
            }
            #expect(paid == 6)
            #expect(try await Self.uses(suite, code) == 6)
            let charged = try await suite.rows(
                "payments", "SELECT amount, count(*) FROM charges WHERE state = 'succeeded' GROUP BY 1")
            #expect(charged == [[315, 6]])
        }
    }

    /// Whether the order was placed. Repeats the request until it is decided.
    private static func decided(_ customer: Customer, _ order: JSON) async throws -> Bool {
        var answer: ParseClient.Answer?
        try await eventually("the checkout is decided", within: .seconds(120)) {
            let now = try await customer.client.run("checkout", order)
            answer = now
            return now.status < 500 && now.code != 124
        }
        let last = try #require(answer)
        guard last.status != 200 else { return true }
        let problem = last.json.at("details", "code")
        #expect(problem == "discount_exhausted" || problem == "card_declined", "\(last.text)")
        return false
    }
}
