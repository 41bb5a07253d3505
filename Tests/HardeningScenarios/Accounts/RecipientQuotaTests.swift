import ParseProtocol
import TestSupport
import Testing

/// T5c, T5d: no client can fill another person's mailbox through the shop. Only the operator sees which mails were not
/// sent.
@Suite struct RecipientQuotaTests {
    private static func sent(_ suite: Suite, to address: String) -> [Mail] {
        suite.mails().filter { $0.header("To")?.lowercased().contains(address) == true }
    }

    /// Waits until the queue is empty.
    private static func untilSent(_ suite: Suite) async throws {
        try await eventually("every mail is decided about", within: .seconds(30)) {
            let waiting = try await suite.rows("mail", "SELECT count(*) FROM mails WHERE state = 'queued'")
            var undelivered = 0
            for service in ["users", "bag"] {
                let rows = try await suite.rows(service, "SELECT count(*) FROM outbox WHERE kind LIKE 'mail.%'")
                undelivered += Int(rows.first?.arrayValue?.first?.intValue ?? 0)
            }
            return waiting == [[0]] && undelivered == 0
        }
    }

    @Test func signingUpAndDeletingAgainAndAgainSendsAFewMails() async throws {
        let suite = try await Suite.shared
        let victim = "victim\(Names.random(8).lowercased())@elsewhere.example"
        for round in 0..<30 {
            var client = ParseClient(suite)
            let address = round % 2 == 0 ? victim : victim.replacing("@", with: "+\(round)@")
            let signUp = try await client.call(
                .POST, "/users",
                ["username": .string(Names.random(12)), "password": "secret-word", "email": .string(address)])
            #expect(signUp.status == 201, "\(signUp.text)")
            client.sessionToken = signUp["sessionToken"]?.stringValue
            #expect(try await client.call(.DELETE, "/users/\(signUp.objectId)").status == 200)
        }
        try await Self.untilSent(suite)
        let mailbox = String(victim.prefix { $0 != "@" }).lowercased()
        let sent = Self.sent(suite, to: mailbox).count
        #expect((1...12).contains(sent), "\(sent) of 30 mails were sent.")
    }

    @Test func fortyOrdersWriteAFewMailsToAnAddressThatIsNotVerified() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Bomb"], stock: 1000)
        let customer = try await Customer.signUp(suite)
        for _ in 0..<20 {
            _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            let paid = try await customer.client.run(
                "checkout",
                [
                    "tokenId": "tok_visa", "shippingAddress": Customer.address,
                    "note": "You won! Claim at https://evil.example/prize",
                ])
            #expect(paid.status == 200, "A quota is no error to the customer: \(paid.text)")
        }
        try await Self.untilSent(suite)
        let mails = Self.sent(suite, to: customer.email)
        let confirmations = mails.filter { $0.text.contains("Thank you for your order") }
        #expect((1...9).contains(confirmations.count), "\(confirmations.count) of 20 confirmations were sent.")
        for mail in mails { #expect(!mail.text.contains("evil.example")) }
        #expect(confirmations.allSatisfy { $0.text.contains("> You won!") })
        let held = try await Customer.admin(suite).run("mails", ["state": "held", "limit": 100])
        #expect(held.status == 200, "\(held.text)")
        let reasons = held.result.arrayValue?.compactMap { $0["problem"]?.stringValue } ?? []
        #expect(reasons.contains { $0.hasPrefix("Held") }, "\(held.text)")
    }

    @Test func aVerifiedCustomersConfirmationsAllCome() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Honest"], stock: 1000)
        let customer = try await Customer.signUp(suite)
        let verified = try await ParseClient.master(suite).call(
            .PUT, "/users/\(customer.userId)", ["emailVerified": true])
        #expect(verified.status == 200, "\(verified.text)")
        for _ in 0..<16 {
            _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            let paid = try await customer.client.run(
                "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
            #expect(paid.status == 200, "\(paid.text)")
        }
        try await Self.untilSent(suite)
        let confirmations = Self.sent(suite, to: customer.email).filter { $0.text.contains("Thank you for your order") }
        #expect(confirmations.count == 16)
    }
}
