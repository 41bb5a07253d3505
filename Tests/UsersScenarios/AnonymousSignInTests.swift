import ParseProtocol
import TestSupport
import Testing

/// An anonymous shopper signs in to an existing account: the bag moves, and the anonymous user ends.
@Suite struct AnonymousSignInTests {
    private func filledBag(_ suite: Suite) async throws -> (client: ParseClient, userId: String, shelf: Shelf) {
        let shelf = try await Shelf.fill(suite, names: ["Lip \(Names.random(4))"])
        let (client, userId) = try await Customer.anonymous(suite)
        let added = try await client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        guard added.status == 200 else { throw Unexpected("addToBag", added) }
        return (client, userId, shelf)
    }

    @Test func signingInHandsTheBagOverAndEndsTheAnonymousUser() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let (anonymous, userId, _) = try await filledBag(suite)
        let login = try await anonymous.call(
            .POST, "/login", ["username": .string(customer.email), "password": .string(customer.password)])
        try #require(login.status == 200, "\(login.text)")
        try #require(login.objectId == customer.userId, "\(login.text)")
        #expect(try await anonymous.get("/users/me").code == 209)
        #expect(try await ParseClient.master(suite).get("/users/\(userId)").status == 404)
        try await Self.expectMerge(from: userId, to: customer.userId, in: suite)
        // The bag service gets no deletion message, which could overtake the merge.
        let told = try await suite.rows(
            "users", "SELECT count(*) FROM outbox WHERE kind = 'bag.userDeleted.v1' AND key LIKE '%\(userId)%'")
        #expect(told == [[0]])
    }

    /// The badge is correct as soon as the sign-in is answered.
    @Test func theBagIsThereWhenTheSignInIsAnswered() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let (anonymous, _, shelf) = try await filledBag(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let login = try await anonymous.call(
            .POST, "/login", ["username": .string(customer.email), "password": .string(customer.password)])
        try #require(login.status == 200, "\(login.text)")
        let bag = try await customer.client.run("bag")
        #expect(bag.result["badgeCount"] == 3, "\(bag.text)")
    }

    @Test func signingUpForASeparateAccountHandsTheBagOver() async throws {
        let suite = try await Suite.shared
        let (anonymous, userId, _) = try await filledBag(suite)
        let made = try await anonymous.call(
            .POST, "/users", ["username": .string(Names.random(10)), "password": "secret1"])
        try #require(made.status == 201, "\(made.text)")
        try #require(made.objectId != userId, "\(made.text)")
        try await Self.expectMerge(from: userId, to: made.objectId, in: suite)
    }

    /// Only an anonymous user's bag moves. Another user's session, a void session and the user's own session change
    /// nothing.
    @Test func otherSessionsHandNothingOver() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let friend = try await Customer.signUp(suite)
        let pair: JSON = ["username": .string(customer.email), "password": .string(customer.password)]
        for token in [
            friend.client.sessionToken, customer.client.sessionToken, "r:00000000000000000000000000000000", "x",
        ] {
            var client = ParseClient(suite)
            client.sessionToken = token
            #expect(try await client.call(.POST, "/login", pair).status == 200)
        }
        #expect(try await friend.client.get("/users/me").status == 200)
        let rows = try await suite.rows(
            "users", "SELECT count(*) FROM outbox WHERE kind = 'bag.merge.v1' AND key LIKE '%:\(customer.userId)'")
        #expect(rows == [[0]])
    }

    @Test func aWrongPasswordLeavesTheAnonymousUserAlone() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let (anonymous, userId, _) = try await filledBag(suite)
        let refused = try await anonymous.call(
            .POST, "/login", ["username": .string(customer.email), "password": "wrong!"])
        #expect(refused.code == 101)
        #expect(try await anonymous.get("/users/me").objectId == userId)
        #expect(try await anonymous.run("bag").result["badgeCount"] == 2)
    }

    /// The merge is in the outbox, or the bag service has answered it.
    private static func expectMerge(from: String, to: String, in suite: Suite) async throws {
        let key = "outbox:bag:merge:\(from):\(to)"
        try await eventually("the merge is known") {
            let kept = try await suite.rows("users", "SELECT count(*) FROM outbox WHERE key = '\(key)'")
            let done = try await suite.rows("bag", "SELECT count(*) FROM deliveredReplies WHERE key = '\(key)'")
            return [kept, done].contains([[1]])
        }
    }
}
