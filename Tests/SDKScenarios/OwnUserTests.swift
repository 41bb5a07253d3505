import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The requests of old and new SDKs about their own user and session, and for sign-up, sign-in and logout (MOBILE_SDKS
/// sections 1 to 4).
@Suite struct OwnUserTests {
    /// `Parse.User.current().fetch()` of the JavaScript SDK signs a user out when the answer lacks the token.
    @Test func theOwnUserByIdHasTheSession() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let token = try #require(customer.client.sessionToken)
        for path in ["/users/\(customer.userId)", "/classes/_User/\(customer.userId)"] {
            for options in [[:], ["keys": "firstName"], ["include": "photo"]] as [[String: JSON]] {
                let own = try await customer.client.get(path, options)
                #expect(own.status == 200, "\(path) \(options): \(own.text)")
                #expect(own["sessionToken"] == .string(token), "\(path) \(options): \(own.text)")
            }
            let tunnelled = try await customer.tunnelled.get(path)
            #expect(tunnelled["sessionToken"] == .string(token), "\(tunnelled.text)")
            let item: JSON = ["method": "GET", "path": .string("/parse\(path)")]
            let batch = try await customer.client.call(.POST, "/batch", ["requests": [item]])
            #expect(batch.json.arrayValue?.first?["success"]?["sessionToken"] == .string(token), "\(batch.text)")
            #expect(try await ParseClient.master(suite).get(path)["sessionToken"] == nil)
        }
        let opened = try await customer.client.call(
            .PUT, "/users/\(customer.userId)", ["ACL": ["*": ["read": true]]])
        #expect(opened.status == 200, "Nothing new to tell: \(opened.text)")
        #expect(opened["sessionToken"] == nil, "Nothing new to tell: \(opened.text)")
        let stranger = try await Customer.signUp(suite)
        let seen = try await stranger.client.get("/users/\(customer.userId)")
        #expect(seen.status == 200, "\(seen.text)")
        #expect(seen["sessionToken"] == nil, "\(seen.text)")
        let found = try await customer.client.find("_User", ["objectId": .string(customer.userId)])
        #expect(found.results.count == 1, "As in Parse Server, only by id: \(found.text)")
        #expect(!found.text.contains(token), "As in Parse Server, only by id: \(found.text)")
    }

    @Test func aNewPasswordAnswersWithTheNewSession() async throws {
        let customer = try await Customer.signUp(try await Suite.shared)
        let changed = try await customer.client.call(.PUT, "/users/\(customer.userId)", ["password": "another secret"])
        var renewed = customer.client
        renewed.sessionToken = changed["sessionToken"]?.stringValue
        #expect(renewed.sessionToken != nil)
        #expect(renewed.sessionToken != customer.client.sessionToken)
        #expect(try await renewed.get("/users/me").objectId == customer.userId)
    }

    /// iOS sends no body and no type, Android an empty object, Flutter no body.
    @Test func sessionsAreUpgradedShownAndEndedWithoutABody() async throws {
        let suite = try await Suite.shared
        for body in ["", "{}"] {
            let customer = try await Customer.signUp(suite)
            let token = try #require(customer.client.sessionToken)
            let headers = [
                "X-Parse-Application-Id: satchel", "X-Parse-Client-Version: i1.8.5", "X-Parse-Session-Token: \(token)",
            ]
            let wire = Wire(suite: suite, headers: headers + (body.isEmpty ? [] : ["Content-Type: application/json"]))
            let upgraded = try await wire.send("POST /parse/upgradeToRevocableSession", [], body)
            #expect(upgraded.status == 200, "\(upgraded.text)")
            #expect(upgraded.json["sessionToken"] == .string(token), "\(upgraded.text)")
            let session = try await wire.send("GET /parse/sessions/me")
            #expect(session.status == 200, "\(session.text)")
            #expect(session.json["sessionToken"] == .string(token), "\(session.text)")
            #expect(session.json.at("user", "objectId") == .string(customer.userId), "\(session.text)")
            let out = try await wire.send("POST /parse/logout", [], body)
            #expect(out.status == 200, "\(out.text)")
            #expect(out.json == [:], "\(out.text)")
            #expect(try await wire.send("GET /parse/sessions/me").code == 209)
        }
    }

    /// iOS 6 signs in by a real POST when there is authData.
    @Test func signingInByPostTakesAuthDataThatProvesNothing() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        for authData in [[:], .null, ["anonymous": .null]] as [JSON] {
            let answer = try await ParseClient(suite).call(
                .POST, "/login",
                [
                    "username": .string(customer.email), "password": .string(customer.password), "authData": authData,
                ])
            #expect(answer.status == 200, "\(authData): \(answer.text)")
            #expect(answer.objectId == customer.userId, "\(authData): \(answer.text)")
            #expect(answer["sessionToken"] != nil)
            #expect(answer["authData"] == nil)
        }
    }

    /// Android up to 1.16 signs up at `classes/_User`, with the session of the current user.
    @Test func signingUpWithSomebodysSessionMakesAnotherUser() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let name = "android\(Names.random(10).lowercased())"
        let made = try await customer.client.call(
            .POST, "/classes/_User", ["username": .string(name), "password": "secret1"])
        #expect(made.status == 201, "\(made.text)")
        #expect(made.objectId != customer.userId, "\(made.text)")
        #expect(made.headers.first(name: "Location") == "\(suite.url)/users/\(made.objectId)")
        let token = made["sessionToken"]?.stringValue
        #expect(token != nil)
        #expect(token != customer.client.sessionToken)
        #expect(try await customer.client.get("/users/me").objectId == customer.userId, "Nobody is signed out by it.")
        #expect(try await customer.client.call(.POST, "/logout", [:]).status == 200)
        let late = try await customer.client.call(
            .POST, "/classes/_User", ["username": .string(name + "2"), "password": "secret1"])
        #expect(late.status == 201, "A session that has ended does not stand in the way: \(late.text)")
    }

    /// A sign-in accepts a user name or an address, so no user name may equal another user's address.
    @Test func aUserNameCannotBeAnotherUsersAddress() async throws {
        let suite = try await Suite.shared
        let (name, email) = (Names.random(10), "\(Names.random(10).lowercased())@customers.example")
        let owner = try await ParseClient(suite).call(
            .POST, "/users", ["username": .string(name), "password": "secret1", "email": .string(email)])
        try #require(owner.status == 201, "\(owner.text)")
        let taken = try await ParseClient(suite).call(
            .POST, "/users", ["username": .string(email.uppercased()), "password": "secret1"])
        #expect(taken.status == 400, "\(taken.text)")
        #expect(taken.code == 202, "\(taken.text)")
        let other = "\(Names.random(10).lowercased())@customers.example"
        let named = try await ParseClient(suite).call(
            .POST, "/users", ["username": .string(other), "password": "secret1"])
        try #require(named.status == 201, "\(named.text)")
        let address = try await ParseClient(suite).call(
            .POST, "/users", ["username": .string(name + "2"), "password": "secret1", "email": .string(other)])
        #expect(address.status == 400, "\(address.text)")
        #expect(address.code == 203, "\(address.text)")
    }
}

extension Customer {
    /// The customer's client in the form of the JavaScript SDK.
    fileprivate var tunnelled: ParseClient {
        var client = client
        client.style = .tunnelled
        return client
    }
}
