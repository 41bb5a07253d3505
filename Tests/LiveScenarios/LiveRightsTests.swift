import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Rights are evaluated at the moment of each event. A client neither sees data that it may not read, nor can it query
/// it.
@Suite struct LiveRightsTests {
    private static func className() -> String { "Live\(Names.random(8))" }

    private static func connection(_ suite: Suite, _ client: ParseClient) async throws -> LiveConnection {
        try await LiveConnection.connect(suite, ["sessionToken": client.sessionToken.map(JSON.string) ?? .null])
    }

    private static func own(_ userId: String) -> JSON { .object([userId: ["read": true, "write": true]]) }

    /// CVE-2026-57481 among others: after an object is hidden from a user, its later state is not shown.
    @Test func advisory2026_57481_anACLDecidesAboutBothSidesOfAChange() async throws {
        let suite = try await Suite.shared
        let (ann, annId) = try await Customer.anonymous(suite)
        let (bob, bobId) = try await Customer.anonymous(suite)
        let name = Self.className()
        let (annLive, bobLive) = (try await Self.connection(suite, ann), try await Self.connection(suite, bob))
        for live in [annLive, bobLive] { try await live.subscribe(1, name) }
        let master = ParseClient.master(suite)
        let id = try await master.create(name, ["text": "first", "ACL": Self.own(annId)]).objectId
        #expect(try await annLive.nextEvent(of: 1)["op"] == "create")
        _ = try await master.call(.PUT, "/classes/\(name)/\(id)", ["text": "second", "ACL": Self.own(bobId)])
        let left = try await annLive.nextEvent(of: 1)
        #expect(left["op"] == "leave")
        #expect(!left.serializedText.contains("second"))
        let entered = try await bobLive.nextEvent(of: 1)
        #expect(entered["op"] == "enter")
        #expect(!entered.serializedText.contains("first"))
        #expect(entered["original"] == nil)
    }

    @Test func advisory2020_15270_aRevokedSessionHearsNothingMore() async throws {
        let suite = try await Suite.shared
        let (ann, annId) = try await Customer.anonymous(suite)
        let name = Self.className()
        let live = try await Self.connection(suite, ann)
        try await live.subscribe(1, name)
        let master = ParseClient.master(suite)
        _ = try await master.create(name, ["n": 1, "ACL": Self.own(annId)])
        #expect(try await live.nextEvent(of: 1).at("object", "n") == 1)
        let session = try await ann.get("/sessions/me").json.objectId
        #expect(try await master.call(.DELETE, "/sessions/\(session)").status == 200)
        for n in [2, 3] as [JSON] { _ = try await master.create(name, ["n": n, "ACL": Self.own(annId)]) }
        let end = try await live.next()
        #expect(end["op"] == "error" && end["code"] == 209 && end["requestId"] == 1, "\(end.serializedText)")
        // A later answer shows that no event came before it.
        #expect(try await live.subscribe(2, name)["code"] == 209)
        #expect(live.waiting.isEmpty)
    }

    /// A logout by the same client ends its subscription without an error; a subscription of another session continues.
    @Test func aLogOutEndsItsSubscriptionsWithoutAnError() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let other = try await customer.signInAgain()
        let name = Self.className()
        let live = try await Self.connection(suite, customer.client)
        let otherLive = try await Self.connection(suite, other)
        try await live.subscribe(1, name)
        try await otherLive.subscribe(1, name)
        #expect(try await customer.client.call(.POST, "/logout").status == 200)
        let end = try await live.next()
        #expect(end["op"] == "unsubscribed" && end["requestId"] == 1, "\(end.serializedText)")
        // Later requests with the session are refused.
        #expect(try await live.subscribe(2, name)["code"] == 209)
        #expect(live.waiting.isEmpty)
        _ = try await ParseClient.master(suite).create(name, ["n": 1])
        #expect(try await otherLive.nextEvent(of: 1).at("object", "n") == 1)
    }

    @Test func advisory2026_100632_aRoleCountsFromTheMomentOnThatItIsGiven() async throws {
        let suite = try await Suite.shared
        let (ann, annId) = try await Customer.anonymous(suite)
        let master = ParseClient.master(suite)
        let role = "live\(Names.random(8))"
        let made = try await master.call(.POST, "/roles", ["name": .string(role), "ACL": ["*": ["read": true]]])
        #expect(made.status == 201, "\(made.text)")
        let name = Self.className()
        let access: JSON = .object(["role:\(role)": ["read": true]])
        let live = try await Self.connection(suite, ann)
        try await live.subscribe(1, name)
        func member(_ op: JSON) async throws {
            let answer = try await master.call(
                .PUT, "/roles/\(made.objectId)",
                ["users": ["__op": op, "objects": [.pointer("_User", annId)]]])
            guard answer.status == 200 else { throw Unexpected("PUT roles", answer) }
        }
        _ = try await master.create(name, ["n": 1, "ACL": access])
        try await member("AddRelation")
        _ = try await master.create(name, ["n": 2, "ACL": access])
        #expect(try await live.nextEvent(of: 1).at("object", "n") == 2)
        try await member("RemoveRelation")
        _ = try await master.create(name, ["n": 3, "ACL": access])
        _ = try await master.create(name, ["n": 4])
        #expect(try await live.nextEvent(of: 1).at("object", "n") == 4)
    }

    @Test func advisory2022_31112_protectedFieldsAreInNoEvent() async throws {
        let suite = try await Suite.shared
        let name = Self.className()
        let master = ParseClient.master(suite)
        let schema = try await master.call(
            .POST, "/schemas/\(name)",
            [
                "className": .string(name), "fields": ["secret": ["type": "String"], "text": ["type": "String"]],
                "classLevelPermissions": [
                    "find": ["*": true], "get": ["*": true], "create": ["*": true], "update": ["*": true],
                    "protectedFields": ["*": ["secret"]],
                ],
            ])
        #expect(schema.status < 300, "\(schema.text)")
        let live = try await LiveConnection.connect(suite)
        let operatorLive = try await LiveConnection.connect(suite, ["masterKey": .string(Suite.masterKey)])
        for connection in [live, operatorLive] { try await connection.subscribe(1, name) }
        let id = try await master.create(name, ["secret": "hidden-word", "text": "a"]).objectId
        _ = try await master.call(.PUT, "/classes/\(name)/\(id)", ["secret": "other-word"])
        for _ in 0..<2 {
            let event = try await live.nextEvent(of: 1).serializedText
            #expect(!event.contains("word"), "\(event)")
            #expect(try await operatorLive.nextEvent(of: 1).serializedText.contains("word"))
        }
        // CVE-2026-32098, 2026-33429, 2026-34595: neither by a condition, at any depth, nor by watching.
        for (index, condition) in [
            ["secret": "hidden-word"], ["$or": [["secret": ["$regex": "^h"]]]], ["$nor": [["secret": "x"]]],
        ].enumerated() as EnumeratedSequence<[JSON]> {
            #expect(try await live.subscribe(Int64(10 + index), name, condition)["code"] == 119)
        }
        #expect(try await live.subscribe(20, name, [:], ["watch": ["secret"]])["code"] == 119)
        let disguised: JSON = ["$or": ["0": ["secret": "x"], "length": 1]]
        #expect(try await live.subscribe(21, name, disguised)["code"] == 102)
    }

    @Test func advisory2026_30947_permissionsOfTheClassHoldForSubscriptions() async throws {
        let suite = try await Suite.shared
        let name = Self.className()
        let master = ParseClient.master(suite)
        func permissions(_ find: JSON) -> JSON {
            [
                "className": .string(name),
                "classLevelPermissions": ["find": find, "get": find, "create": ["*": true], "update": ["*": true]],
            ]
        }
        _ = try await master.call(.POST, "/schemas/\(name)", permissions(["*": true]))
        let live = try await LiveConnection.connect(suite)
        try await live.subscribe(1, name)
        _ = try await master.create(name, ["n": 1])
        #expect(try await live.nextEvent(of: 1).at("object", "n") == 1)
        _ = try await master.call(.PUT, "/schemas/\(name)", permissions([:]))
        _ = try await master.create(name, ["n": 2])
        let end = try await live.next()
        #expect(end["code"] == 119 && end["requestId"] == 1, "\(end.serializedText)")
        #expect(try await live.subscribe(2, name)["code"] == 119)
    }

    /// Only the user that an object names receives its events.
    @Test func advisory2026_33421_pointerPermissionsHoldForEvents() async throws {
        let suite = try await Suite.shared
        let (ann, annId) = try await Customer.anonymous(suite)
        let (bob, _) = try await Customer.anonymous(suite)
        let name = Self.className()
        let master = ParseClient.master(suite)
        let schema = try await master.call(
            .POST, "/schemas/\(name)",
            [
                "className": .string(name), "fields": ["owner": ["type": "Pointer", "targetClass": "_User"]],
                "classLevelPermissions": ["create": ["*": true], "readUserFields": ["owner"]],
            ])
        #expect(schema.status < 300, "\(schema.text)")
        let (annLive, bobLive) = (try await Self.connection(suite, ann), try await Self.connection(suite, bob))
        for live in [annLive, bobLive] { #expect(try await live.subscribe(1, name)["op"] == "subscribed") }
        _ = try await master.create(name, ["owner": .pointer("_User", annId)])
        #expect(try await annLive.nextEvent(of: 1)["op"] == "create")
        try await bobLive.subscribe(2, name)
        #expect(bobLive.waiting.isEmpty)
    }

    /// A webhook may hide objects from finds, but it is not called for events.
    @Test func advisory2026_33163_aClassWithAWebhookForReadsHasNoEvents() async throws {
        let suite = try await Suite.shared
        let name = Self.className()
        let master = ParseClient.master(suite)
        let live = try await LiveConnection.connect(suite)
        try await live.subscribe(1, name)
        let hook = try await master.call(
            .POST, "/hooks/triggers",
            ["className": .string(name), "triggerName": "afterFind", "url": "http://127.0.0.1:1/hook"])
        #expect(hook.status == 200, "\(hook.text)")
        #expect(try await live.subscribe(2, name)["code"] == 119)
        _ = try await master.create(name, ["n": 1])
        let end = try await live.next { $0["requestId"] == 1 }
        #expect(end["code"] == 119, "\(end.serializedText)")
        _ = try await master.call(.DELETE, "/hooks/triggers/\(name)/afterFind")
    }
}
