import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Linked accounts as the iOS and Android SDKs save and read them (MOBILE_SDKS sections 1 and 7). From a partial
/// `authData` in an answer they conclude that the link ended, and remove it. With every save they send the link again,
/// with a token that may have expired long ago.
@Suite(.serialized) struct LinkedAccountTests {
    private static func facebook(_ id: String, token: String? = nil) -> JSON {
        [
            "id": .string(id), "access_token": .string(token ?? "fb-app:\(id)"),
            "expiration_date": "2030-01-01T00:00:00.000Z",
        ]
    }

    private static func signIn(_ suite: Suite, _ authData: JSON) async throws -> ParseClient.Answer {
        try await ParseClient(suite).call(.POST, "/users", ["authData": authData])
    }

    /// A user who signed up with Facebook.
    private static func linked(_ suite: Suite, _ id: String) async throws -> (client: ParseClient, userId: String) {
        let made = try await signIn(suite, ["facebook": facebook(id)])
        try #require(made.status == 201, "\(made.text)")
        var client = ParseClient(suite)
        client.sessionToken = made["sessionToken"]?.stringValue
        return (client, made.objectId)
    }

    @Test func authDataIsWholeOrAbsentInEveryAnswer() async throws {
        try await ProviderSuite.with { suite, _ in
            let (sent, master) = (["facebook": Self.facebook("501")] as JSON, ParseClient.master(suite))
            let (signedUp, userId) = try await Self.linked(suite, "501")
            var client = signedUp
            let path = "/users/\(userId)"
            let again = try await Self.signIn(suite, sent)
            #expect(again.status == 200, "\(again.text)")
            #expect(again["authData"] == sent, "\(again.text)")
            #expect(again.headers.first(name: "Location") == "\(suite.url)\(path)")

            let password = Names.random(12)
            let named = try await client.call(
                .PUT, path,
                ["username": .string("u\(userId)"), "password": .string(password), "authData": sent, "city": "Ulm"])
            client.sessionToken = named["sessionToken"]?.stringValue
            let note = try await client.create("LinkNote", ["by": .pointer("_User", userId)])
            let pair: JSON = ["username": .string("u\(userId)"), "password": .string(password)]
            let item: JSON = [
                "method": "PUT", "path": .string("/parse\(path)"), "body": ["authData": sent, "city": "Bonn"],
            ]
            let answers = [
                named, note, try await client.get("/users/me"), try await client.get(path),
                try await client.get("/classes/_User/\(userId)"),
                try await client.get(path, ["keys": "authData"]),
                try await client.get(path, ["keys": "authData.facebook"]),
                try await client.get("/users"), try await client.find("_User", ["objectId": .string(userId)]),
                try await client.get("/classes/LinkNote/\(note.objectId)", ["include": "by"]),
                try await client.call(.POST, "/batch", ["requests": [item]]),
                try await client.call(.PUT, path, ["authData": sent]),
                try await ParseClient(suite).call(.POST, "/login", pair),
                try await ParseClient(suite).call(.POST, "/verifyPassword", pair),
                try await master.call(.POST, "/loginAs", ["userId": .string(userId)]),
            ]
            for answer in answers {
                #expect((200...201).contains(answer.status), "\(answer.text)")
                #expect(!answer.text.contains("facebook"), "\(answer.text)")
            }
            #expect(try await master.get(path)["authData"] == ["facebook": ["id": "501"]])
        }
    }

    @Test func withTwoLinksOnlyBothAreTheWhole() async throws {
        try await ProviderSuite.with { suite, _ in
            let (facebook, twitter) = (Self.facebook("511"), ProviderSuite.twitter("512"))
            let (client, userId) = try await Self.linked(suite, "511")
            let added = try await client.call(.PUT, "/users/\(userId)", ["authData": ["twitter": twitter]])
            try #require(added.status == 200, "\(added.text)")
            let one = try await Self.signIn(suite, ["facebook": facebook])
            #expect(one.status == 200, "\(one.text)")
            #expect(one.objectId == userId, "\(one.text)")
            #expect(one["authData"] == nil, "\(one.text)")
            let both: JSON = ["facebook": facebook, "twitter": twitter]
            let all = try await Self.signIn(suite, both)
            #expect(all.status == 200, "\(all.text)")
            #expect(all["authData"] == both, "\(all.text)")
        }
    }

    @Test func aTokenThatEndedStopsNoSave() async throws {
        try await ProviderSuite.with { suite, _ in
            let (client, userId) = try await Self.linked(suite, "521")
            let path = "/users/\(userId)"
            let ended: JSON = ["facebook": Self.facebook("521", token: "ended")]
            // More often than the limit for wrong proofs allows.
            for number in 0..<7 {
                let saved = try await client.call(.PUT, path, ["authData": ended, "city": .string("City \(number)")])
                let isOwn = saved["sessionToken"]?.stringValue == client.sessionToken
                #expect(saved.status == 200, "\(saved.text)")
                #expect(isOwn, "\(saved.text)")
            }
            #expect(try await client.get(path)["city"] == "City 6")
            // The expired token still proves nothing: not for a sign-in, another account or another id, nor after the
            // link was removed.
            #expect(try await Self.signIn(suite, ended).code == 101)
            let other = try await Customer.signUp(suite)
            let taken = try await other.client.call(.PUT, "/users/\(other.userId)", ["authData": ended])
            #expect(taken.code == 101, "\(taken.text)")
            let another = try await client.call(
                .PUT, path, ["authData": ["facebook": Self.facebook("522", token: "ended")]])
            #expect(another.code == 101, "\(another.text)")
            let named = try await client.call(
                .PUT, path, ["username": .string("u\(userId)"), "password": "secret1", "authData": ["facebook": .null]])
            try #require(named.status == 200, "\(named.text)")
            var renewed = client
            renewed.sessionToken = named["sessionToken"]?.stringValue
            let late = try await renewed.call(.PUT, path, ["authData": ended])
            #expect(late.code == 101, "\(late.text)")
            #expect(try await Self.signIn(suite, ["facebook": Self.facebook("521")]).status == 201, "It is free again.")
        }
    }

    @Test func linkingAnswersWithTheSessionAndAnotherUsersLinkWith208() async throws {
        try await ProviderSuite.with { suite, _ in
            let (client, userId) = try await Customer.anonymous(suite)
            let facebook = Self.facebook("531")
            let link: JSON = ["authData": ["facebook": facebook, "anonymous": .null]]
            let linked = try await client.call(.PUT, "/users/\(userId)", link)
            #expect(linked.status == 200, "\(linked.text)")
            #expect(linked["authData"] == nil, "\(linked.text)")
            #expect(linked["updatedAt"] != nil, "\(linked.text)")
            #expect(linked["sessionToken"]?.stringValue == client.sessionToken)
            #expect(try await Self.signIn(suite, ["facebook": facebook]).objectId == userId)
            let (second, secondId) = try await Customer.anonymous(suite)
            let conflict = try await second.call(.PUT, "/users/\(secondId)", link)
            #expect(conflict.status == 400, "\(conflict.text)")
            #expect(conflict.code == 208, "\(conflict.text)")
            // The SDK then signs in with the same proof.
            let moved = try await second.call(.POST, "/users", ["authData": ["facebook": facebook]])
            #expect(moved.status == 200, "\(moved.text)")
            #expect(moved.objectId == userId, "\(moved.text)")
        }
    }

    @Test func anAnonymousUserSignsUpAsIOSDoes() async throws {
        let suite = try await Suite.shared
        let (client, userId) = try await Customer.anonymous(suite)
        let name = "ios\(Names.random(10).lowercased())"
        let saved = try await client.call(
            .PUT, "/classes/_User/\(userId)",
            [
                "username": .string(name), "password": "secret1", "email": .string("\(name)@customers.example"),
                "authData": ["anonymous": .null],
            ])
        #expect(saved.status == 200, "\(saved.text)")
        #expect(saved["sessionToken"] != nil, "\(saved.text)")
        #expect(saved["authData"] == nil, "\(saved.text)")
        var renewed = client
        renewed.sessionToken = saved["sessionToken"]?.stringValue
        #expect(try await renewed.get("/users/me").objectId == userId)
        #expect(try await client.get("/users/me").code == 209, "The password is new, the old session ended.")
        // For a link that was never saved, the sign-up reports it.
        let fresh = try await ParseClient(suite).call(
            .POST, "/users",
            ["username": .string(name + "2"), "password": "secret1", "authData": ["anonymous": .null]])
        #expect(fresh.status == 201, "\(fresh.text)")
        #expect(fresh["sessionToken"] != nil, "\(fresh.text)")
        #expect(fresh["authData"] == nil, "\(fresh.text)")
    }
}
