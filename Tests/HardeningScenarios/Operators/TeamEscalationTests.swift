import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Nobody becomes an operator, or an operator of another role, by an invitation that an admin did not send to them. Id
/// T14l of docs/internals/hardening.md.
@Suite(.serialized) struct TeamEscalationTests {
    private static let guess = "0123456789abcdef0123456789abcdef"

    /// T14l
    @Test func onlyAdminsInviteAndRemove() async throws {
        let desk = try await Desk.shared
        let customer = try await Customer.signUp(desk.suite)
        let invitation = try await Invitations.invite(
            Invitations.address(), into: "support", by: ParseClient.master(desk.suite))
        let members = try Desk.roles.map { try desk.member(of: $0).client }
        let others = members + [customer.client, ParseClient(desk.suite)]
        for client in others {
            for role in Desk.roles + ["admins"] {
                let wish: JSON = ["email": .string(customer.email), "role": .string(role)]
                #expect(try await client.run("inviteOperator", wish).code == 119, "\(role)")
            }
            for function in ["resendOperatorInvitation", "revokeOperatorInvitation"] {
                #expect(try await client.run(function, invitation).code == 119, "\(function)")
            }
            for userId in [try desk.member(of: "support").userId, customer.userId, "nobody1234"] {
                for function in ["removeOperator", "resetOperatorFactor"] {
                    #expect(try await client.run(function, ["userId": .string(userId)]).code == 119, "\(function)")
                }
            }
            #expect(try await client.run("operators").code == 119)
        }
        // Tables of a service have no class.
        for name in ["operatorInvitations", "operatorsSeen"] {
            #expect(try await desk.admin.find(name).results.isEmpty, "\(name)")
        }
    }

    /// T14l: a restricted session of an admin has none of the admin's rights.
    @Test func aRestrictedSessionInvitesNobody() async throws {
        let desk = try await Desk.shared
        let made = try await desk.admin.call(.POST, "/sessions", [:])
        let client = ParseClient(desk.suite, sessionToken: try #require(made["sessionToken"]?.stringValue))
        let wish: JSON = ["email": .string(Invitations.address()), "role": "support"]
        #expect(try await client.run("inviteOperator", wish).code == 119)
        #expect(try await client.run("operators").code == 119)
        #expect(try await client.run("setOperatorFactor", ["password": "a"]).code == 119)
    }

    /// T14l
    @Test(arguments: [
        "team", "order_desk", "order-desk ", "ORDER-DESK", "orders", "catalog_editors", "%", "_", "role:admins", "",
        "admins\u{0}",
    ])
    func onlyTheNameOfAnOperatorsRoleIsOne(_ role: String) async throws {
        let desk = try await Desk.shared
        let answer = try await desk.admin.run(
            "inviteOperator", ["email": .string(Invitations.address()), "role": .string(role)])
        #expect(answer.code == 142, "\(answer.text)")
    }

    /// T14l: tokens that open nothing are answered alike, whatever else is wrong.
    @Test func aGuessedTokenOpensNothing() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let values: [JSON] = [
            .string(Self.guess), "", .string(Self.guess.uppercased()), 1, .null, ["$ne": ""], ["$gt": ""], "%",
            "' OR 1=1 --",
        ]
        var answers: Set<String> = []
        for token in values {
            for password in ["a-long-secret", "x"] {
                let answer = try await client.run(
                    "acceptOperatorInvitation", ["token": token, "name": "Mallory", "password": .string(password)])
                #expect(answer.code == 101, "\(answer.text)")
                answers.insert(answer.text)
            }
        }
        #expect(answers.count == 1, "\(answers)")
    }

    /// T14l: a stranger signed up with the colleague's address before, without owning the mailbox.
    @Test func anAccountMadeInAdvanceIsLostToTheOwnerOfTheMailbox() async throws {
        let suite = try await Suite.shared
        let stranger = try await Customer.signUp(suite)
        let second = try await stranger.signInAgain()
        try await Invitations.invite(stranger.email, into: "order-desk", by: ParseClient.master(suite))
        let token = try await Invitations.tokens(to: stranger.email, in: suite)[0]
        // The invitation alone gives the account nothing.
        #expect(try await stranger.client.run("myAreas").result["areas"] == [])
        let accepted = try await Invitations.accept(token, "chosen-by-the-owner", in: suite)
        try #require(accepted.status == 200, "\(accepted.text)")
        for client in [stranger.client, second] { #expect(try await client.get("/users/me").code == 209) }
        #expect(try await Self.signIn(stranger.email, stranger.password, suite).code == 101)
        let entered = try await Self.signIn(stranger.email, "chosen-by-the-owner", suite)
        #expect(entered.objectId == stranger.userId)
        let owner = ParseClient(suite, sessionToken: try #require(entered["sessionToken"]?.stringValue))
        #expect(try await owner.run("myAreas").result["areas"] == ["orders"])
        #expect(entered["emailVerified"] == true)
    }

    /// T14l: the user name is the colleague's address, and the mails of the account go elsewhere.
    @Test func anAccountWhoseMailsGoElsewhereIsNotUsed() async throws {
        let suite = try await Suite.shared
        let address = Invitations.address()
        let made = try await ParseClient(suite).call(
            .POST, "/users",
            [
                "username": .string(address), "email": .string("\(Names.random(10).lowercased())@strangers.example"),
                "password": "of-the-stranger",
            ])
        let stranger = ParseClient(suite, sessionToken: try #require(made["sessionToken"]?.stringValue))
        try await Invitations.invite(address, into: "order-desk", by: ParseClient.master(suite))
        let token = try await Invitations.tokens(to: address, in: suite)[0]
        #expect(try await Invitations.accept(token, "chosen-by-the-owner", in: suite).code == 203)
        #expect(try await stranger.run("myAreas").result["areas"] == [])
        #expect(try await Self.signIn(address, "chosen-by-the-owner", suite).code == 101)
    }

    /// T14l: with these settings, sessions outlive a new password, and the stranger linked a provider.
    @Test(.timeLimit(.minutes(10))) func noSessionAndNoProviderOfAStrangerIsLeft() async throws {
        let settings = ["SATCHEL_REVOKE_SESSIONS_ON_PASSWORD_CHANGE": "false"]
        try await ProviderSuite.with(settings) { suite, _ in
            let stranger = try await Customer.signUp(suite)
            let linked = try await stranger.client.call(
                .PUT, "/users/\(stranger.userId)", ["authData": ["facebook": ProviderSuite.facebook("71")]])
            try #require(linked.status == 200, "\(linked.text)")
            try await Invitations.invite(stranger.email, into: "admins", by: ParseClient.master(suite))
            let token = try await Invitations.tokens(to: stranger.email, in: suite)[0]
            // Some of these requests are on their way when the invitation is accepted.
            async let links: Void = Self.link(stranger, ["72", "73"])
            #expect(try await Invitations.accept(token, "chosen-by-the-owner", in: suite).status == 200)
            #expect(try await stranger.client.get("/users/me").code == 209)
            try await links
            for id in ["71", "72", "73"] {
                let entered = try await ParseClient(suite).call(
                    .POST, "/users", ["authData": ["facebook": ProviderSuite.facebook(id)]])
                #expect(entered.status == 201, "It is another account now: \(entered.text)")
                #expect(entered.objectId != stranger.userId)
            }
        }
    }

    /// Links one provider account after the other until the session has ended.
    private static func link(_ customer: Customer, _ ids: [String]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in ids {
                group.addTask {
                    for _ in 0..<1000 {
                        for proof in [ProviderSuite.facebook(id), .null] as [JSON] {
                            let answer = try await customer.client.call(
                                .PUT, "/users/\(customer.userId)", ["authData": ["facebook": proof]])
                            if answer.code == 209 { return }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// T14l: an invitation is worth as much as its sender is when it is accepted.
    @Test func theInvitationOfAFormerAdminIsVoid() async throws {
        let desk = try await Desk.shared
        let admin = try await InvitedOperator(of: "admins", in: desk.suite)
        let address = Invitations.address()
        try await Invitations.invite(address, into: "admins", by: admin.client)
        let token = try await Invitations.tokens(to: address, in: desk.suite)[0]
        // Removed from the role alone, as before there was a team.
        let role = try await Desk.id(of: "admins", desk.suite)
        let pointer = JSON.pointer("_User", admin.userId)
        let removed = try await desk.admin.call(
            .PUT, "/roles/\(role)", ["users": ["__op": "RemoveRelation", "objects": [pointer]]])
        #expect(removed.status == 200, "\(removed.text)")
        #expect(try await admin.client.run("operators").code == 119)
        #expect(try await Invitations.accept(token, "long-enough", in: desk.suite).code == 101)
        #expect(try await Self.signIn(address, "long-enough", desk.suite).code == 101)
    }

    private static func signIn(
        _ name: String, _ password: String, _ suite: Suite
    ) async throws -> ParseClient.Answer {
        try await ParseClient(suite).call(
            .POST, "/login", ["username": .string(name), "password": .string(password)])
    }
}
