import Foundation
import ParseProtocol
import TestSupport
import Testing

/// T11a: the id of an anonymous user grants access to the account. It is handled like a password: stored as a hash, and
/// shown only to its owner.
@Suite(.serialized) struct AnonymousSecretTests {
    private static func body(_ id: String) -> JSON { ["authData": ["anonymous": ["id": .string(id)]]] }

    /// As dashboards send them: permissions without `protectedFields`.
    private static let permissions: JSON = [
        "find": ["*": true], "count": ["*": true], "get": ["*": true], "create": ["*": true], "update": ["*": true],
        "delete": ["*": true], "addField": ["*": true],
    ]

    @Test func onlyTheOwnerSeesTheAnonymousId() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let id = UUID().uuidString.lowercased()
            let master = ParseClient.master(suite)
            var owner = ParseClient(suite)
            let made = try await owner.call(.POST, "/users", Self.body(id))
            owner.sessionToken = made["sessionToken"]?.stringValue
            let path = "/users/\(made.objectId)"
            let changed = try await master.call(
                .PUT, "/schemas/_User", ["className": "_User", "classLevelPermissions": Self.permissions])
            try #require(changed.status == 200, "\(changed.text)")
            #expect(try await owner.call(.PUT, path, ["ACL": ["*": ["read": true]]]).status == 200)

            let stranger = try await Customer.signUp(suite).client
            let admin = try await Customer.admin(suite)
            for client in [ParseClient(suite), stranger, admin, master] {
                let answers = [
                    try await client.get(path), try await client.get("/classes/_User/\(made.objectId)"),
                    try await client.find("_User", ["objectId": .string(made.objectId)]),
                    try await client.get("/export/_User"), try await client.get("/aggregate/_User", ["pipeline": "[]"]),
                ]
                #expect(answers[0].status == 200, "\(answers[0].text)")
                for answer in answers { #expect(!answer.text.contains(id), "\(answer.text)") }
            }
            #expect(try await master.get(path)["authData"] == ["anonymous": [:]])
            #expect(!StoredSessionTests.isStored(id, in: suite), "The id is in the file.")

            // The owner gets the complete entry or none: from a partial one, SDKs conclude that it was unlinked.
            let whole: JSON = ["anonymous": ["id": .string(id)]]
            let again = try await ParseClient(suite).call(.POST, "/users", Self.body(id))
            #expect(again.status == 200)
            #expect(again.objectId == made.objectId)
            #expect(again["authData"] == whole)
            for answer in [try await owner.get("/users/me"), try await owner.get(path)] {
                #expect(answer["authData"] == whole, "\(answer.text)")
            }
            let found = try await owner.find("_User", ["objectId": .string(made.objectId)])
            #expect(found.results.first?["authData"] == whole, "\(found.text)")
            #expect(try await owner.get(path, ["keys": "username"])["authData"] == nil)
        }
    }

    @Test func savingAndConvertingGoOn() async throws {
        let suite = try await Suite.shared
        let id = UUID().uuidString.lowercased()
        var owner = ParseClient(suite)
        let made = try await owner.call(.POST, "/users", Self.body(id))
        owner.sessionToken = made["sessionToken"]?.stringValue
        let path = "/users/\(made.objectId)"
        var echo = Self.body(id)
        echo["city"] = "Ulm"
        #expect(try await owner.call(.PUT, path, echo).status == 200)
        #expect(try await ParseClient(suite).call(.POST, "/users", Self.body(id)).objectId == made.objectId)
        let other = UUID().uuidString.lowercased()
        #expect(try await owner.call(.PUT, path, Self.body(other)).status == 200)
        #expect(try await owner.get("/users/me").json.at("authData", "anonymous", "id") == .string(other))
        let old = try await ParseClient(suite).call(.POST, "/users", Self.body(id))
        #expect(old.status == 201, "The former id is nobody's.")
        let name = JSON.string(Names.random(10))
        let converted = try await owner.call(
            .PUT, path, ["username": name, "password": "secret1", "authData": ["anonymous": .null]])
        #expect(converted.status == 200, "\(converted.text)")
        let login = try await ParseClient(suite).call(.POST, "/login", ["username": name, "password": "secret1"])
        #expect(login.objectId == made.objectId, "\(login.text)")
        #expect(login["authData"] == nil, "\(login.text)")
        #expect(try await ParseClient(suite).call(.POST, "/users", Self.body(other)).status == 201)
    }

    /// Ids that an earlier release stored in plain text are converted.
    @Test func idsInPlainTextAreConverted() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let id = UUID().uuidString.lowercased()
            let made = try await ParseClient(suite).call(.POST, "/users", Self.body(id))
            let classes = try await suite.rows("users", "SELECT id FROM classes WHERE name = '_User'")
            let classId = try #require(classes.first?.at(0)?.intValue)
            let user = made.objectId
            try await suite.tamper(
                "users",
                """
                UPDATE o\(classId) SET doc = json_set(doc, '$.authData.anonymous.id', '\(id)') \
                WHERE objectId = '\(user)'
                """
            )
            try await suite.tamper("users", "UPDATE identities SET value = '\(id)' WHERE kind = 'auth:anonymous'")
            try await suite.tamper("users", "DELETE FROM anonymousIds")
            try await suite.tamper("users", "DELETE FROM grdb_migrations WHERE identifier = 'users.3.plainSecrets'")
            try await suite.kill("users-1")
            try await suite.untilHealthy()
            #expect(try await ParseClient(suite).call(.POST, "/users", Self.body(id)).objectId == user)
            try await eventually("the id is converted") {
                try await suite.rows("users", "SELECT count(*) FROM anonymousIds") == [[1]]
            }
            #expect(
                try await suite.rows("users", "SELECT doc FROM o\(classId)").allSatisfy {
                    !$0.serializedText.contains(id)
                })
            let back = try await ParseClient(suite).call(.POST, "/users", Self.body(id))
            #expect(back.objectId == user, "\(back.text)")
            #expect(back.json.at("authData", "anonymous", "id") == .string(id), "\(back.text)")
        }
    }
}
