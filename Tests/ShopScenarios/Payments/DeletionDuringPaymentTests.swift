import Glibc
import ParseProtocol
import TestSupport
import Testing

/// An account cannot be deleted while its payment is undecided: the order would have neither customer nor address.
@Suite struct DeletionDuringPaymentTests {
    @Test func theDeletionIsRefusedUntilThePaymentIsDecided() async throws {
        try await Suite.with(settings: Suite.withoutWatchdog) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Cream"])
            let customer = try await Customer.signUp(suite)
            _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            let admin = try await Customer.admin(suite)
            let payments = try #require(suite.processId(of: "payments-1"))
            #expect(kill(payments, SIGSTOP) == 0)
            defer { _ = kill(payments, SIGCONT) }
            let payment: JSON = [
                "tokenId": "tok_visa", "idempotencyKey": "k", "shippingAddress": Customer.address,
            ]
            async let answer = customer.client.run("checkout", payment)
            try await eventually("payments is asked") {
                try await suite.rows("bag", "SELECT count(*) FROM checkouts WHERE state = 'reserved'") == [[1]]
            }
            func delete() async throws -> [ParseClient.Answer] {
                [
                    try await customer.client.call(.DELETE, "/users/\(customer.userId)"),
                    try await ParseClient.master(suite).call(.DELETE, "/users/\(customer.userId)"),
                    try await admin.run("deleteAccount", ["userId": .string(customer.userId)]),
                ]
            }
            for refused in try await delete() {
                #expect(refused.code == 142, "\(refused.text)")
                #expect(refused["error"]?.stringValue?.contains("payment") == true, "\(refused.text)")
            }
            try await suite.kill("bag-1")
            try await eventually("the new process knows as well") {
                try await delete().allSatisfy { $0.code == 142 }
            }
            _ = kill(payments, SIGCONT)
            var paid = try await answer
            try await eventually("the order is made", within: .seconds(40)) {
                if paid.status != 200 { paid = try await customer.client.run("checkout", payment) }
                return paid.status == 200
            }
            let order = try await customer.client.find("Order", ["orderStatus": 1]).results.first
            #expect(order?["customer"] == customer.pointer)
            try await eventually("the confirmation is written") {
                suite.mails().contains {
                    $0.source.contains(customer.email) && $0.header("Subject")?.hasPrefix("Your order") == true
                }
            }
            #expect(try await customer.client.call(.DELETE, "/users/\(customer.userId)").status == 200)
            #expect(try await suite.rows("payments", "SELECT count(*) FROM charges WHERE state = 'succeeded'") == [[1]])
        }
    }
}
