import ParseProtocol
import TestSupport
import Testing

/// Addresses as apps of hosted Parse use them: saved again to get another verification mail, or given only as the user
/// name.
@Suite struct AccountAddressTests {
    /// The number of links created for an account, whether or not their mails were sent.
    private static func links(of userId: String, in suite: Suite) async throws -> Int {
        let rows = try await suite.rows("users", "SELECT hash FROM mailedTokens WHERE userId = '\(userId)'")
        return rows.count
    }

    @Test func theSameAddressSavedAgainIsMailedAgainAtMostSoOften() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let first = try await MailedLink.newest("verify_email", to: customer.email, in: suite)
        let path = "/users/\(customer.userId)"
        func save() async throws {
            let saved = try await customer.client.call(.PUT, path, ["email": .string(customer.email)])
            #expect(saved.status == 200, "\(saved.text)")
        }
        try await save()
        _ = try await MailedLink.all("verify_email", to: customer.email, in: suite, atLeast: 2)
        #expect(try await Self.links(of: customer.userId, in: suite) == 2)
        // The quota of an account is five, including the mail of the sign-up.
        for _ in 0..<6 { try await save() }
        #expect(try await Self.links(of: customer.userId, in: suite) == 5)
        #expect(try await first.open().status == 200, "Older links stay good.")
        #expect(try await customer.client.get(path)["emailVerified"] == true)
        let before = try await Self.links(of: customer.userId, in: suite)
        try await save()
        #expect(try await Self.links(of: customer.userId, in: suite) == before, "It is verified.")
        #expect(try await customer.client.get(path)["emailVerified"] == true)
    }

    @Test func aResetFindsTheAccountByAUserNameThatIsAnAddress() async throws {
        let suite = try await Suite.shared
        let address = "\(Names.random(10).lowercased())@customers.example"
        let made = try await ParseClient(suite).call(
            .POST, "/users", ["username": .string(address), "password": "secret1"])
        try #require(made.status == 201, "\(made.text)")
        let asked = try await ParseClient(suite).call(
            .POST, "/requestPasswordReset", ["email": .string(address.uppercased())])
        #expect(asked.status == 200, "\(asked.text)")
        let link = try await MailedLink.newest("request_password_reset", to: address, in: suite)
        #expect(try await link.choose("a new secret").status == 200)
        let login = try await ParseClient(suite).call(
            .POST, "/login", ["username": .string(address), "password": "a new secret"])
        #expect(login.status == 200, "\(login.text)")
        #expect(login.objectId == made.objectId, "\(login.text)")
        #expect(login["email"] == nil)
        #expect(login["emailVerified"] != true)
    }

    @Test func aLinkToAUserNameEndsWithTheName() async throws {
        let suite = try await Suite.shared
        let address = "\(Names.random(10).lowercased())@customers.example"
        var client = ParseClient(suite)
        let made = try await client.call(.POST, "/users", ["username": .string(address), "password": "secret1"])
        client.sessionToken = made["sessionToken"]?.stringValue
        _ = try await ParseClient(suite).call(.POST, "/requestPasswordReset", ["email": .string(address)])
        let link = try await MailedLink.newest("request_password_reset", to: address, in: suite)
        let renamed = try await client.call(
            .PUT, "/users/\(made.objectId)", ["username": .string(Names.random(10))])
        try #require(renamed.status == 200, "\(renamed.text)")
        #expect(try await link.choose("a new secret").status == 404)
    }
}
