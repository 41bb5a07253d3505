import Foundation
import ParseProtocol
import TestSupport
import Testing

/// T1c: stored session data grants no access: neither to a reader of the file, nor to another device, nor to the master
/// key.
@Suite(.serialized) struct StoredSessionTests {
    /// Whether a text occurs anywhere in the service's database, including its log.
    static func isStored(_ text: String, in suite: Suite) -> Bool {
        ["users.sqlite", "users.sqlite-wal"].contains { file in
            FileManager.default.contents(atPath: "\(suite.dataDirectory)/\(file)")?.range(of: Data(text.utf8)) != nil
        }
    }

    @Test func aCopyOfTheFileIsNoSetOfKeys() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let customer = try await Customer.signUp(suite)
            let device = try await customer.signInAgain()
            let restricted = try await customer.client.call(.POST, "/sessions", [:])
            let (anonymous, _) = try await Customer.anonymous(suite)
            let admin = try await Customer.admin(suite)
            let tokens = [
                customer.client.sessionToken, device.sessionToken, restricted["sessionToken"]?.stringValue,
                anonymous.sessionToken, admin.sessionToken,
            ].compactMap(\.self)
            try #require(tokens.count == 5)
            #expect(Self.isStored(customer.email, in: suite), "The search finds what is there.")
            let found = tokens.filter { Self.isStored($0, in: suite) }
            #expect(found.isEmpty, "\(found.count) of 5 tokens are in the file.")
            let mode = try FileManager.default.attributesOfItem(atPath: "\(suite.dataDirectory)/users.key")
            #expect(mode[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func aTokenIsShownToTheClientThatSentItOnly() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let device = try await customer.signInAgain()
        let mine = try await customer.client.get("/sessions/me")
        let token = JSON.string(customer.client.sessionToken ?? "")
        #expect(mine["sessionToken"] == token)
        for path in ["/sessions", "/classes/_Session"] {
            let list = try await customer.client.get(path)
            #expect(list.results.count == 2, "\(list.text)")
            for session in list.results {
                #expect(session["sessionToken"] == (session["objectId"] == mine["objectId"] ? token : nil))
            }
            #expect(try await customer.client.get("\(path)/\(mine.objectId)")["sessionToken"] == token)
            let chosen = try await customer.client.get(path, ["keys": "user"])
            #expect(!chosen.text.contains("sessionToken"), "\(chosen.text)")
        }
        let other = try await device.get("/sessions/me").objectId
        #expect(try await customer.client.get("/sessions/\(other)")["sessionToken"] == nil)
        let master = ParseClient.master(suite)
        let all = try await master.find("_Session", ["user": customer.pointer])
        #expect(all.results.count == 2, "\(all.text)")
        #expect(!all.text.contains("sessionToken"), "\(all.text)")
        #expect(try await master.find("_Session", ["sessionToken": token]).results.isEmpty)
        let exported = try await master.get("/export/_Session")
        #expect(!exported.text.contains(customer.client.sessionToken ?? "?"))
    }

    /// Sessions of an earlier build continue; none is stored in plain text.
    @Test func sessionsInPlainTextAreConverted() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let customer = try await Customer.signUp(suite)
            let session = try await customer.client.get("/sessions/me")
            let token = try #require(customer.client.sessionToken)
            let classes = try await suite.rows("users", "SELECT id FROM classes WHERE name = '_Session'")
            let classId = try #require(classes.first?.at(0)?.intValue)
            try await suite.tamper(
                "users",
                """
                UPDATE o\(classId) SET doc = json_set(doc, '$.sessionToken', '\(token)') \
                WHERE objectId = '\(session.objectId)'
                """)
            try await suite.tamper("users", "DELETE FROM sessionTokens WHERE sessionId = '\(session.objectId)'")
            try await suite.tamper("users", "DELETE FROM grdb_migrations WHERE identifier = 'users.3.plainSecrets'")
            try await suite.kill("users-1")
            try await suite.untilHealthy()
            #expect(try await customer.client.get("/users/me").objectId == customer.userId)
            try await eventually("the session is converted") {
                try await suite.rows(
                    "users", "SELECT count(*) FROM sessionTokens WHERE sessionId = '\(session.objectId)'") == [[1]]
            }
            let converted = try await suite.rows(
                "users", "SELECT doc FROM o\(classId) WHERE objectId = '\(session.objectId)'")
            #expect(!converted[0].serializedText.contains(token))
            #expect(try await customer.client.get("/users/me").objectId == customer.userId)
            let after = try await customer.client.get("/sessions/me")
            #expect(after["updatedAt"] == session["updatedAt"])
            #expect(after["sessionToken"] == .string(token))
            #expect(try await customer.client.call(.POST, "/logout", [:]).status == 200)
            #expect(try await customer.client.get("/users/me").code == 209)
        }
    }
}
