import ParseProtocol
import TestSupport
import Testing

/// Only admins and support work with customers' accounts. Ids T14g and T14h of docs/internals/hardening.md.
@Suite struct AccountDeskTests {
    private static let functions: [(String, JSON)] = [
        ("accounts", ["search": "nobody"]), ("allAccounts", [:]), ("account", [:]),
        ("updateAccount", ["name": "Mallory"]), ("deleteAccount", [:]),
    ]

    /// T14g
    @Test func refusalsDoNotRevealAccounts() async throws {
        let desk = try await Desk.shared
        let customer = try await Customer.signUp(desk.suite)
        let others = [
            try await Customer.signUp(desk.suite).client, ParseClient(desk.suite),
            try desk.member(of: "order-desk").client, try desk.member(of: "developers").client,
        ]
        for (function, parameters) in Self.functions {
            for client in others {
                var answers: Set<String> = []
                for id in [customer.userId, "nobody1234", "", "not an id"] {
                    var asked = parameters
                    asked["userId"] = .string(id)
                    if function == "accounts" { asked["search"] = .string(id == customer.userId ? customer.email : id) }
                    let answer = try await client.run(function, asked)
                    #expect(answer.code == 119, "\(function) \(id): \(answer.text)")
                    answers.insert(answer.text)
                }
                #expect(answers.count == 1, "\(function): \(answers)")
            }
        }
        #expect(try await customer.client.get("/users/me")["name"] == nil)
    }

    /// T14g
    @Test func supportFindsAndEditsACustomerWhoNeverOrdered() async throws {
        let desk = try await Desk.shared
        let support = try desk.member(of: "support").client
        let customer = try await Customer.signUp(desk.suite)
        let user: JSON = ["userId": .string(customer.userId)]
        let word = "Quince\(Names.random(8))"
        let edited = try await support.run(
            "updateAccount", ["userId": .string(customer.userId), "lastName": .string(word), "phone": "555-0199"])
        try #require(edited.status == 200, "\(edited.text)")
        for start in [customer.email.prefix(12).uppercased(), word.lowercased(), "ada \(word)"] {
            let found = try await support.run("accounts", ["search": .string(start)])
            let accounts = found.result["results"]?.arrayValue ?? []
            #expect(accounts.map { $0["objectId"] } == [.string(customer.userId)], "\(start): \(found.text)")
            #expect(accounts.first?["isOperator"] == false)
        }
        let account = try await support.run("account", user)
        #expect(account.result["lastName"] == .string(word))
        #expect(account.result["phone"] == "555-0199")
        #expect(account.result["signsInWith"] == ["password"])
        for secret in ["authData", "ACL", "sessionToken", "password\":", "_hashed", customer.password] {
            #expect(!account.text.contains(secret), "\(account.text)")
        }
        let me = try await customer.client.get("/users/me")
        #expect(me["lastName"] == .string(word))
        // The log names the changed fields, but not their values.
        try await eventually("the change is in the log") {
            let log = try await desk.admin.run(
                "auditEntries", ["className": "_User", "objectId": .string(customer.userId)])
            #expect(!log.text.contains(word))
            return log.result["entries"]?.at(0, "action") == "updateAccount"
        }
    }

    @Test func supportSeesEveryAccountPageByPage() async throws {
        let desk = try await Desk.shared
        let support = try desk.member(of: "support").client
        let customers = [try await Customer.signUp(desk.suite), try await Customer.signUp(desk.suite)]
        var (found, after): ([String], JSON) = ([], .null)
        // Other tests sign users up at the same time.
        for _ in 0..<500 where !customers.allSatisfy({ found.contains($0.userId) }) {
            let page = try await support.run("allAccounts", ["limit": 1, "after": after])
            found += (page.result["results"]?.arrayValue ?? []).map { $0.text("objectId") }
            for secret in ["authData", "ACL", "sessionToken", "_hashed"] { #expect(!page.text.contains(secret)) }
            after = try #require(page.result["cursor"], "\(page.text)")
        }
        let places = customers.map { found.firstIndex(of: $0.userId) ?? -1 }
        #expect(places[1] >= 0 && places[1] < places[0], "The newest is first: \(places)")
        #expect(Set(found).count == found.count)
        #expect(try await support.run("allAccounts", ["after": "~x"]).code == 102)
        #expect(try await support.run("allAccounts", ["limit": 0]).code == 142)
    }

    /// T14h
    @Test func anAddressIsChangedByAdminsAlone() async throws {
        let desk = try await Desk.shared
        let customer = try await Customer.signUp(desk.suite)
        let address = "\(Names.random(10).lowercased())@customers.example"
        let change: JSON = ["userId": .string(customer.userId), "email": .string(address)]
        #expect(try await desk.member(of: "support").client.run("updateAccount", change).code == 119)
        let other = try await Customer.signUp(desk.suite)
        let taken = try await desk.admin.run(
            "updateAccount", ["userId": .string(customer.userId), "email": .string(other.email)])
        #expect([202, 203].contains(taken.code), "\(taken.text)")
        let changed = try await desk.admin.run("updateAccount", change)
        try #require(changed.status == 200, "\(changed.text)")
        let me = try await customer.client.get("/users/me")
        #expect(me["email"] == .string(address))
        #expect(me["username"] == .string(address))
        #expect(me["emailVerified"] != true)
        let login: JSON = ["username": .string(address), "password": .string(customer.password)]
        #expect(try await ParseClient(desk.suite).call(.POST, "/login", login).status == 200)
    }

    /// T14h
    @Test func anOperatorsAccountIsNotSupportsAndIsNotDeleted() async throws {
        let desk = try await Desk.shared
        let support = try desk.member(of: "support").client
        for role in Desk.roles {
            let user: JSON = ["userId": .string(try desk.member(of: role).userId)]
            var change = user
            change["name"] = "Mallory"
            #expect(try await support.run("account", user).code == 119, "\(role)")
            #expect(try await support.run("updateAccount", change).code == 119, "\(role)")
            #expect(try await support.run("deleteAccount", user).code == 119, "\(role)")
            #expect(try await desk.admin.run("account", user).result["isOperator"] == true, "\(role)")
            #expect(try await desk.admin.run("deleteAccount", user).code == 119, "\(role)")
        }
        #expect(try await support.get("/users/me").status == 200)
    }

    @Test func aDeletedAccountIsGoneAtOnceAndTheLogSaysWhoDidIt() async throws {
        let desk = try await Desk.shared
        let support = try desk.member(of: "support")
        let customer = try await Customer.signUp(desk.suite)
        let user: JSON = ["userId": .string(customer.userId)]
        let deleted = try await support.client.run("deleteAccount", user)
        try #require(deleted.result == ["deleted": true], "\(deleted.text)")
        #expect(try await customer.client.get("/users/me").code == 209)
        #expect(try await support.client.run("account", user).code == 101)
        #expect(try await support.client.run("deleteAccount", user).code == 101)
        let found = try await support.client.run("accounts", ["search": .string(customer.email)])
        #expect(found.result["results"] == [])
        try await eventually("the deletion is in the log") {
            let log = try await desk.admin.run(
                "auditEntries", ["className": "_User", "objectId": .string(customer.userId)])
            let entry = log.result["entries"]?.at(0)
            return entry?["action"] == "deleteAccount" && entry?["userId"] == .string(support.userId)
        }
        let again = try await ParseClient(desk.suite).call(
            .POST, "/users", ["username": .string(customer.email), "password": "secret1"])
        #expect(again.status == 201, "\(again.text)")
    }
}
