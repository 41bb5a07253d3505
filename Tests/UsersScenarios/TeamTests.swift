import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Operators are invited by mail, listed and removed, and look after their own passwords and second factors, without
/// `SATCHEL_MFA`. The mails are in the spool. The tests run one after the other, because a suite computes few
/// password hashes at a time.
@Suite(.serialized) struct TeamTests {
    private static let start = Task { try await Suite.start() }
    private static var suite: Suite { get async throws { try await start.value } }

    static func signIn(
        _ name: String, _ password: String, code: String? = nil, in suite: Suite
    ) async throws -> ParseClient.Answer {
        var pair: JSON = ["username": .string(name), "password": .string(password)]
        if let code { pair["authData"] = ["mfa": ["token": .string(code)]] }
        return try await ParseClient(suite).call(.POST, "/login", pair)
    }

    static func row(_ userId: String, _ admin: ParseClient) async throws -> JSON? {
        try await admin.run("operators").result["operators"]?.arrayValue?.first {
            $0["objectId"] == .string(userId)
        }
    }

    /// Waits for an entry of the audit log, which services report with a short delay.
    static func logged(_ action: String, _ objectId: String, in suite: Suite) async throws -> JSON {
        let master = ParseClient.master(suite)
        var entry: JSON?
        try await eventually("\(action) is in the log") {
            let log = try await master.run("auditEntries", ["objectId": .string(objectId)])
            entry = log.result["entries"]?.arrayValue?.first { $0["action"] == .string(action) }
            return entry != nil
        }
        return entry ?? .null
    }

    // MARK: - Invitations

    @Test func anInvitedPersonChoosesNameAndPasswordAndIsInTheRole() async throws {
        let suite = try await Self.suite
        let admin = try await Customer.admin(suite)
        let (address, password) = (Invitations.address(), Names.random(12))
        let invitation = try await Invitations.invite(address, into: "order-desk", by: admin)
        let open = try await admin.run("operators").result["invitations"]?.arrayValue?.first {
            $0["email"] == .string(address)
        }
        #expect(open?["role"] == "order-desk")
        #expect(open?["invitedBy"] == "admin@satchel.example")
        #expect(open?["isExpired"] == false)
        let token = try await Invitations.tokens(to: address, in: suite)[0]
        #expect(token.count == 32)
        // The database has no token.
        let stored = try await suite.rows("users", "SELECT hash FROM operatorInvitations")
        #expect(!stored.isEmpty && !stored.contains { $0.serializedText.contains(token) })

        // A refused password does not use the invitation up.
        #expect(try await Invitations.accept(token, "short", in: suite).code == 142)
        let accepted = try await Invitations.accept(token, password, in: suite)
        try #require(accepted.status == 200, "\(accepted.text)")
        #expect(accepted.result == ["username": .string(address)])
        #expect(try await Invitations.accept(token, "another-password", in: suite).code == 101, "It works once.")
        let entered = try await Self.signIn(address, password, in: suite)
        let client = ParseClient(suite, sessionToken: try #require(entered["sessionToken"]?.stringValue))
        #expect(entered["name"] == "Ben Long")
        #expect(entered["emailVerified"] == true)
        #expect(try await client.run("myAreas").result["areas"] == ["orders"])
        #expect(try await client.run("operators").code == 119)

        let member = try #require(try await Self.row(entered.objectId, admin))
        #expect(member["roles"] == ["order-desk"])
        #expect(member["sessions"] == 1)
        #expect(member["hasSecondFactor"] == false)
        #expect(member.at("lastSeenAt", "iso") != nil)
        let invited = try await Self.logged(
            "inviteOperator", invitation["invitationId"]?.stringValue ?? "", in: suite)
        #expect(invited["who"] == "admin@satchel.example")
        #expect(invited.at("after", "role") == "order-desk")
        let joined = try await Self.logged("acceptOperatorInvitation", entered.objectId, in: suite)
        #expect(joined["who"] == .string(address))
    }

    @Test func anInvitationIsSentAgainRevokedAndExpires() async throws {
        let suite = try await Self.suite
        let admin = try await Customer.admin(suite)
        let address = Invitations.address()
        let invitation = try await Invitations.invite(address, into: "support", by: admin)
        let first = try await Invitations.tokens(to: address, in: suite)[0]
        #expect(try await admin.run("resendOperatorInvitation", invitation).status == 200)
        let both = try await Invitations.tokens(to: address, atLeast: 2, in: suite)
        let second = try #require(both.first { $0 != first })
        #expect(try await Invitations.accept(first, "long-enough", in: suite).code == 101, "The former link is void.")
        #expect(try await admin.run("revokeOperatorInvitation", invitation).status == 200)
        #expect(try await Invitations.accept(second, "long-enough", in: suite).code == 101)
        for function in ["resendOperatorInvitation", "revokeOperatorInvitation"] {
            #expect(try await admin.run(function, invitation).code == 101, "\(function)")
        }

        let late = Invitations.address()
        let lateInvitation = try await Invitations.invite(late, into: "support", by: admin)
        let token = try await Invitations.tokens(to: late, in: suite)[0]
        try await suite.tamper(
            "users", "UPDATE operatorInvitations SET expiresAt = invitedAt WHERE email = '\(late)'")
        let shown = try await admin.run("operators").result["invitations"]?.arrayValue?.first {
            $0["email"] == .string(late)
        }
        #expect(shown?["isExpired"] == true)
        #expect(try await Invitations.accept(token, "long-enough", in: suite).code == 101)
        #expect(try await admin.run("resendOperatorInvitation", lateInvitation).status == 200)
        let fresh = try #require(
            try await Invitations.tokens(to: late, atLeast: 2, in: suite).first { $0 != token })
        #expect(try await Invitations.accept(fresh, "long-enough", in: suite).status == 200)
    }

    @Test func oneTokenMakesOneMemberHoweverOftenItIsSentAtOnce() async throws {
        let suite = try await Self.suite
        let address = Invitations.address()
        try await Invitations.invite(address, into: "support", by: ParseClient.master(suite))
        let token = try await Invitations.tokens(to: address, in: suite)[0]
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<4 {
                group.addTask { try await Invitations.accept(token, "password-\(number)", in: suite).status }
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses.count { $0 == 200 } == 1, "\(statuses)")
    }

    @Test func invitationsCannotFloodAMailbox() async throws {
        let suite = try await Self.suite
        let master = ParseClient.master(suite)
        let mailbox = Names.random(10).lowercased()
        var codes: [Int?] = []
        for number in 0..<8 {
            let answer = try await master.run(
                "inviteOperator", ["email": .string("\(mailbox)+\(number)@team.example"), "role": "support"])
            codes.append(answer.code)
        }
        #expect(codes == [nil, nil, nil, nil, nil, 155, 155, 155])
    }

    // MARK: - Removal

    @Test func aRemovedOperatorHasNoSessionRoleOrInvitationLeft() async throws {
        let suite = try await Self.suite
        let admin = try await Customer.admin(suite)
        let member = try await InvitedOperator(of: "admins", in: suite)
        let friend = Invitations.address()
        try await Invitations.invite(friend, into: "admins", by: member.client)
        try await Invitations.invite(member.address, into: "support", by: admin)
        let kept = try await Invitations.tokens(to: friend, in: suite)[0]
        let own = try await Invitations.tokens(to: member.address, atLeast: 2, in: suite)
        // Also a member of a role within an operators' role.
        let team = try await ParseClient.master(suite).create(
            "_Role",
            [
                "name": .string("team_\(Names.random(8))"), "ACL": [:],
                "users": ["__op": "AddRelation", "objects": [.pointer("_User", member.userId)]],
            ])
        let desk = try #require(try await ParseClient.master(suite).find("_Role", ["name": "order-desk"]).results.first)
        let nested = try await admin.call(
            .PUT, "/roles/\(desk.text("objectId"))",
            ["roles": ["__op": "AddRelation", "objects": [.pointer("_Role", team.objectId)]]])
        try #require(nested.status == 200, "\(nested.text)")
        #expect(try await member.client.run("operators").status == 200)

        let removed = try await admin.run("removeOperator", member.id)
        try #require(removed.status == 200, "\(removed.text)")
        #expect(removed.result["roles"]?.arrayValue?.count == 2, "\(removed.text)")
        #expect(try await member.client.get("/users/me").code == 209, "The gateway forgot the session.")
        let entered = try await Self.signIn(member.address, member.password, in: suite)
        let client = ParseClient(suite, sessionToken: try #require(entered["sessionToken"]?.stringValue))
        #expect(try await client.run("myAreas").result["areas"] == [])
        #expect(try await Self.row(member.userId, admin) == nil)
        for token in [kept] + own { #expect(try await Invitations.accept(token, "long-enough", in: suite).code == 101) }
        #expect(try await admin.run("removeOperator", member.id).code == 101)
        let entry = try await Self.logged("removeOperator", member.userId, in: suite)
        #expect(entry.at("before", "roles")?.arrayValue?.count == 2)
    }

    @Test func theLastAdminStays() async throws {
        try await Suite.with { suite in
            let admin = try await Customer.admin(suite)
            let me = try await admin.get("/users/me").objectId
            let roles = try await ParseClient.master(suite).find("_Role", ["name": "admins"]).results
            let role = "/roles/\(try #require(roles.first).text("objectId"))"
            let removal: JSON = ["users": ["__op": "RemoveRelation", "objects": [.pointer("_User", me)]]]
            #expect(try await admin.run("removeOperator", ["userId": .string(me)]).code == 119)
            #expect(try await admin.call(.PUT, role, removal).code == 119)
            #expect(try await admin.call(.DELETE, "/users/\(me)").code == 119)
            #expect(try await admin.run("operators").status == 200)
            // Two admins remove each other at once: one remains.
            let other = try await InvitedOperator(of: "admins", in: suite)
            async let mine = admin.run("removeOperator", other.id)
            async let theirs = other.client.run("removeOperator", ["userId": .string(me)])
            let statuses = try await [mine, theirs].map(\.status)
            #expect(statuses.count { $0 == 200 } == 1, "\(statuses)")
            let left = try await ParseClient.master(suite).run("operators").result["operators"]?.arrayValue
            #expect(left?.count == 1)
        }
    }

    // MARK: - The own account

    @Test func anOperatorChangesTheOwnPasswordWithTheOldOne() async throws {
        let suite = try await Self.suite
        let member = try await InvitedOperator(of: "support", in: suite)
        let other = try await Self.signIn(member.address, member.password, in: suite)
        let elsewhere = ParseClient(suite, sessionToken: try #require(other["sessionToken"]?.stringValue))
        func change(_ old: String, _ new: String) async throws -> ParseClient.Answer {
            try await member.client.run(
                "changeOperatorPassword", ["oldPassword": .string(old), "newPassword": .string(new)])
        }
        #expect(try await change("not-the-password", "another-one").code == 101)
        #expect(try await change(member.password, "tiny").code == 142)
        let changed = try await change(member.password, "another-one")
        try #require(changed.status == 200, "\(changed.text)")
        #expect(try await elsewhere.get("/users/me").code == 209)
        let client = ParseClient(suite, sessionToken: try #require(changed.result["sessionToken"]?.stringValue))
        #expect(try await client.run("myAreas").result["areas"] == ["support"])
        #expect(try await Self.signIn(member.address, member.password, in: suite).code == 101)
        #expect(try await Self.signIn(member.address, "another-one", in: suite).status == 200)
        _ = try await Self.logged("changeOperatorPassword", member.userId, in: suite)
        // Guesses are counted.
        for _ in 0..<5 {
            _ = try await client.run(
                "changeOperatorPassword", ["oldPassword": "wrong-one", "newPassword": "long-enough"])
        }
        let locked = try await client.run(
            "changeOperatorPassword", ["oldPassword": "another-one", "newPassword": "long-enough"])
        #expect(locked.code == 101 && locked.text.contains("locked"), "\(locked.text)")
    }

    @Test func anOperatorHasASecondFactorThoughCustomersHaveNone() async throws {
        let suite = try await Self.suite
        let admin = try await Customer.admin(suite)
        let member = try await InvitedOperator(of: "support", in: suite)
        let app = Authenticator()
        func set(_ more: JSON) async throws -> ParseClient.Answer {
            var parameters = more
            if parameters["password"] == nil { parameters["password"] = .string(member.password) }
            return try await member.client.run("setOperatorFactor", parameters)
        }
        let secret = JSON.string(app.secret)
        #expect(try await set(["password": "wrong-one", "secret": secret, "token": "000000"]).code == 101)
        #expect(try await set(["secret": secret, "token": .string(try await app.stale())]).code == 141)
        let enrolled = try await set(["secret": secret, "token": .string(try await app.next())])
        try #require(enrolled.status == 200, "\(enrolled.text)")
        let codes = enrolled.result["recoveryCodes"]?.arrayValue?.compactMap(\.stringValue) ?? []
        try #require(codes.count == 2)
        #expect(try await Self.row(member.userId, admin)?["hasSecondFactor"] == true)

        #expect(try await Self.signIn(member.address, member.password, in: suite).code == 211)
        #expect(try await Self.signIn(member.address, member.password, code: "0000000", in: suite).code == 141)
        let code = try await app.next()
        #expect(try await Self.signIn(member.address, member.password, code: code, in: suite).status == 200)
        #expect(try await Self.signIn(member.address, member.password, code: code, in: suite).code == 141)
        #expect(try await Self.signIn(member.address, member.password, code: codes[0], in: suite).status == 200)

        // A new password by mail does not stand in for the second factor.
        _ = try await ParseClient(suite).call(.POST, "/requestPasswordReset", ["email": .string(member.address)])
        let link = try await MailedLink.newest("request_password_reset", to: member.address, in: suite)
        #expect(try await link.choose("chosen-by-mail").status == 200)
        #expect(try await member.client.get("/users/me").code == 209)
        #expect(try await Self.signIn(member.address, "chosen-by-mail", in: suite).code == 211)
        _ = try await Self.logged("resetPassword", member.userId, in: suite)

        // Who lost phone and codes asks a colleague.
        #expect(try await admin.run("resetOperatorFactor", member.id).status == 200)
        #expect(try await admin.run("resetOperatorFactor", member.id).code == 101)
        #expect(try await Self.signIn(member.address, "chosen-by-mail", in: suite).status == 200)
        _ = try await Self.logged("resetOperatorFactor", member.userId, in: suite)
    }

    @Test func aSecondFactorIsRemovedWithItsCodeAndEndsWithTheRole() async throws {
        let suite = try await Self.suite
        let member = try await InvitedOperator(of: "developers", in: suite)
        let app = Authenticator()
        func set(_ more: [String: JSON]) async throws -> ParseClient.Answer {
            try await member.client.run(
                "setOperatorFactor", .object(more.merging(["password": .string(member.password)]) { $1 }))
        }
        let first = try await set(["secret": .string(app.secret), "token": .string(try await app.next())])
        let codes = first.result["recoveryCodes"]?.arrayValue ?? []
        try #require(codes.count == 2, "\(first.text)")
        #expect(try await set([:]).code == 211)
        #expect(try await set(["code": "000000x"]).code == 141)
        #expect(try await set(["code": codes[0]]).result["recoveryCodes"] == [])
        #expect(try await Self.signIn(member.address, member.password, in: suite).status == 200)
        // A customer's second factor is off with the setting, also that of a former operator.
        let again = try await set(["secret": .string(app.secret), "token": .string(try await app.next())])
        try #require(again.status == 200, "\(again.text)")
        #expect(try await Customer.admin(suite).run("removeOperator", member.id).status == 200)
        #expect(try await Self.signIn(member.address, member.password, in: suite).status == 200)
    }

    @Test func customersAndTheMasterKeyHaveNoOperatorsAccount() async throws {
        let suite = try await Self.suite
        let customer = try await Customer.signUp(suite)
        let password: JSON = ["oldPassword": .string(customer.password), "newPassword": "another-one"]
        let factor: JSON = ["password": .string(customer.password)]
        for (function, parameters) in [("changeOperatorPassword", password), ("setOperatorFactor", factor)] {
            #expect(try await customer.client.run(function, parameters).code == 119, "\(function)")
            #expect(try await ParseClient(suite).run(function, parameters).code == 119, "\(function)")
            #expect(try await ParseClient.master(suite).run(function, parameters).code == 209, "\(function)")
        }
    }
}
