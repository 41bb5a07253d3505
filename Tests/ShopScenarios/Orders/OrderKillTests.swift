import ParseProtocol
import TestSupport
import Testing

/// Money is refunded exactly once, whichever process dies meanwhile.
@Suite(.serialized) struct OrderKillTests {
    /// Twenty orders are cancelled or refunded while bag and payments are killed repeatedly: each is refunded once,
    /// stock adds up, and each customer gets one mail.
    @Test(.timeLimit(.minutes(10))) func everyRefundHappensOnceThoughBagAndPaymentsAreKilled() async throws {
        try await Suite.with(scale: "bag=2,payments=2") { suite in
            try await suite.untilHealthy(replicas: ["bag": 2, "payments": 2])
            let count = 20
            let shelf = try await Shelf.fill(suite, names: ["Kill \(Names.random(4))"], stock: Int64(count))
            let admin = try await Customer.admin(suite)
            let orders = try await buy(suite, shelf, count)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, order) in orders.enumerated() {
                    group.addTask {
                        if index.isMultiple(of: 2) {
                            try await untilDecided(order.client, "cancelOrder", ["orderId": .string(order.id)])
                        } else {
                            try await untilDecided(
                                admin, "refundOrder", ["orderId": .string(order.id), "restock": true])
                        }
                    }
                }
                for replica in ["payments-1", "bag-1", "payments-2", "bag-2", "payments-1", "bag-1"] {
                    try await suite.kill(replica)
                }
                try await group.waitForAll()
            }
            try await suite.untilHealthy(replicas: ["bag": 2, "payments": 2])
            try await verify(suite, shelf, orders)
        }
    }

    private struct Bought {
        let client: ParseClient
        let email: String
        let id: String
    }

    private func buy(_ suite: Suite, _ shelf: Shelf, _ count: Int) async throws -> [Bought] {
        try await withThrowingTaskGroup(of: Bought.self) { group in
            for _ in 0..<count {
                group.addTask {
                    let customer = try await Customer.signUp(suite)
                    _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
                    let paid = try await customer.client.run(
                        "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
                    guard paid.status == 200 else { throw Unexpected("checkout", paid) }
                    return Bought(client: customer.client, email: customer.email, id: paid.result.text("orderId"))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Retries until the refund is decided.
    private func untilDecided(_ client: ParseClient, _ function: String, _ parameters: JSON) async throws {
        try await eventually("\(function) is decided", within: .seconds(120)) {
            let answer = try await client.run(function, parameters)
            guard answer.status == 200 else {
                guard answer.status >= 500 || answer.code == 124 else { throw Unexpected(function, answer) }
                return false
            }
            return answer.result["refundState"] == "done"
        }
    }

    private func verify(_ suite: Suite, _ shelf: Shelf, _ orders: [Bought]) async throws {
        let refunds = try await suite.rows(
            "bag", "SELECT state, amount, count(*), count(DISTINCT orderId) FROM refunds GROUP BY 1, 2")
        #expect(refunds == [["done", 350, .int(Int64(orders.count)), .int(Int64(orders.count))]])
        for order in orders {
            let seen = try await order.client.get("/classes/Order/\(order.id)")
            #expect(seen["refundedTotal"] == 350, "\(seen.text)")
            #expect(seen["orderStatus"] == 1, "\(seen.text)")
            #expect(["cancelled", "refunded"].contains(seen["orderState"]), "\(seen.text)")
        }
        // The refunds in payments' own ledger.
        let money = try await suite.rows(
            "payments",
            "SELECT count(*), count(DISTINCT chargeOperationId), sum(amount) FROM refunds WHERE state = 'succeeded'")
        let count = Int64(orders.count)
        #expect(money == [[.int(count), .int(count), .int(350 * count)]])
        try await eventually("all goods are back", within: .seconds(30)) {
            try await ParseClient(suite).get("/classes/Product/\(shelf.productIds[0])")["stock"]?.intValue == count
        }
        try await eventually("each customer has one mail of it", within: .seconds(60)) {
            let told = suite.mails().filter {
                let subject = $0.header("Subject")?.lowercased() ?? ""
                return subject.contains("was cancelled") || subject.contains("refund for your order")
            }
            return told.count == orders.count
                && orders.allSatisfy { order in
                    told.filter { $0.header("To")?.contains(order.email) == true }.count == 1
                }
        }
    }
}
