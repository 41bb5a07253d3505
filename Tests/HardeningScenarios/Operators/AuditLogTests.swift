import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The audit log as operators see it. Ids T14e and T14f of docs/internals/hardening.md.
@Suite struct AuditLogTests {
    /// Waits until the log has an entry: services report it shortly after the change.
    private static func entry(
        _ desk: Desk, _ action: String, _ filter: JSON, containing word: String = ""
    ) async throws -> JSON {
        var filter = filter
        filter["limit"] = 200
        let wanted = filter
        var found: JSON?
        try await eventually("the audit log has \(action)") {
            let answer = try await desk.admin.run("auditEntries", wanted)
            found = answer.result["entries"]?.arrayValue?.first {
                $0["action"] == .string(action) && (word.isEmpty || $0.serializedText.contains(word))
            }
            return found != nil
        }
        return found ?? .null
    }

    /// T14e
    @Test func aChangeHasItsEntryWithWhoBeforeAndAfter() async throws {
        let desk = try await Desk.shared
        let editor = try desk.member(of: "catalog-editors")
        let made = try await editor.client.create(
            "Product", ["name": "Soap", "unitPrice": 3, "stock": 0, "active": false])
        try #require(made.status == 201, "\(made.text)")
        let path = "/classes/Product/\(made.objectId)"
        #expect(try await editor.client.call(.PUT, path, ["unitPrice": 4]).status == 200)
        let filter: JSON = ["className": "Product", "objectId": .string(made.objectId)]
        let entry = try await Self.entry(desk, "update", filter)
        #expect(entry["who"] == .string(editor.email))
        #expect(entry["userId"] == .string(editor.userId))
        #expect(entry["via"] == "session")
        #expect(entry["before"] == ["unitPrice": 3], "\(entry.serializedText)")
        #expect(entry["after"] == ["unitPrice": 4], "\(entry.serializedText)")
        #expect(entry["address"] == "127.0.0.1")
        #expect(entry["requestId"]?.stringValue?.isEmpty == false)
        #expect(try await ParseClient.master(desk.suite).call(.DELETE, path).status == 200)
        let deleted = try await Self.entry(desk, "delete", filter)
        #expect(deleted["who"] == "master key")
        #expect(deleted["via"] == "masterKey")
        #expect(deleted["before"]?["name"] == "Soap")
        #expect(deleted["after"] == .null)
        let mine = try await desk.admin.run("auditEntries", ["who": .string(editor.email), "limit": 200])
        #expect(mine.result["entries"]?.arrayValue?.allSatisfy { $0["userId"] == .string(editor.userId) } == true)
    }

    /// T14e
    @Test func everyKindOfChangeIsThere() async throws {
        let desk = try await Desk.shared
        let (admin, word) = (desk.admin, Names.random(8))
        let customer = try await Customer.signUp(desk.suite)
        let role = try await Desk.id(of: "support", desk.suite)
        #expect(try await admin.call(.PUT, "/roles/\(role)", Desk.adding(customer.pointer)).status == 200)
        let schema = try await admin.call(.POST, "/schemas/Log\(word)", ["fields": ["a": ["type": "String"]]])
        #expect(schema.status == 200, "\(schema.text)")
        #expect(try await admin.call(.PUT, "/config", ["params": .object(["log\(word)": 1])]).status == 200)
        let hook: JSON = [
            "functionName": .string("log\(word)"), "url": .string("https://hooks.example/a?key=secret\(word)"),
        ]
        #expect(try await admin.call(.POST, "/hooks/functions", hook).status == 200)
        #expect(try await admin.call(.POST, "/jobs/recountRatings", [:]).status == 200)
        let promotion = try await admin.create("Promotion", ["content": .string(word)])
        #expect(promotion.status == 201, "\(promotion.text)")
        #expect(try await admin.run("revokeSessions", ["userId": .string(customer.userId)]).status == 200)
        let project = try await admin.run("createCrashProject", ["name": .string(word)])

        let wanted: [(String, JSON)] = [
            ("update", ["className": "_Role", "objectId": .string(role)]),
            ("schema", ["className": .string("Log\(word)")]), ("config", ["className": "_GlobalConfig"]),
            ("hook", ["objectId": .string("log\(word)")]), ("job.start", ["className": "_JobStatus"]),
            ("create", ["className": "Promotion", "objectId": .string(promotion.objectId)]),
            ("revokeSessions", ["objectId": .string(customer.userId)]),
            ("createCrashProject", ["objectId": .string(project.result.text("projectId"))]),
        ]
        for (action, filter) in wanted {
            // All tests share the config: others change it with the master key meanwhile.
            let entry = try await Self.entry(desk, action, filter, containing: action == "config" ? "log\(word)" : "")
            #expect(entry["userId"]?.stringValue?.isEmpty == false, "\(action)")
            #expect(!entry.serializedText.contains("secret\(word)"), "\(action)")
        }
        let member = try await Self.entry(
            desk, "update", ["className": "_Role", "objectId": .string(role)], containing: customer.userId)
        #expect(member["after"]?["users"]?["__op"] == "AddRelation", "\(member.serializedText)")
        _ = try await admin.call(.DELETE, "/hooks/functions/log\(word)")
        _ = try await admin.call(.PUT, "/config", ["params": .object(["log\(word)": ["__op": "Delete"]])])
        _ = try await admin.call(.DELETE, "/schemas/Log\(word)")
    }

    /// T14f
    @Test func auditEntriesAreImmutable() async throws {
        let desk = try await Desk.shared
        let made = try await desk.admin.create("Category", ["title": .string("Kept \(Names.random(8))")])
        let filter: JSON = ["objectId": .string(made.objectId)]
        let entry = try await Self.entry(desk, "create", filter)
        let master = ParseClient.master(desk.suite)
        for client in [master, desk.admin] {
            for name in ["auditEntries", "_AuditEntries", "_Audit"] {
                for path in ["/classes/\(name)/1", "/purge/\(name)", "/schemas/\(name)"] {
                    _ = try await client.call(.DELETE, path)
                    _ = try await client.call(.PUT, path, ["who": "nobody"])
                }
                for function in ["deleteAuditEntries", "auditEntries"] {
                    _ = try await client.run(function, ["delete": true, "objectId": .string(name)])
                }
            }
        }
        let after = try await desk.admin.run("auditEntries", filter)
        #expect(after.result["entries"] == [entry], "\(after.text)")
        for role in Desk.roles {
            #expect(try await desk.member(of: role).client.run("auditEntries").code == 119, "\(role)")
        }
        #expect(try await desk.admin.run("auditEntries", ["limit": 0]).code == 142)
    }

    /// T14j
    @Test func editorsOfTheCatalogReadTheHistoryOfProductsAlone() async throws {
        let desk = try await Desk.shared
        let editor = try desk.member(of: "catalog-editors")
        let made = try await editor.client.create(
            "Product", ["name": "History", "unitPrice": 3, "stock": 0, "active": false])
        try #require(made.status == 201, "\(made.text)")
        let path = "/classes/Product/\(made.objectId)"
        #expect(try await editor.client.call(.PUT, path, ["unitPrice": 4]).status == 200)
        let wanted: JSON = ["className": "Product", "objectId": .string(made.objectId)]
        var entries: [JSON] = []
        try await eventually("the editor reads both") {
            entries = try await editor.client.run("auditEntries", wanted).result["entries"]?.arrayValue ?? []
            return entries.count == 2
        }
        #expect(entries.map { $0["action"] } == ["update", "create"])
        #expect(entries.first?["before"] == ["unitPrice": 3])
        #expect(entries.first?["who"] == .string(editor.email))
        for entry in entries { #expect(entry["address"] == nil && entry["requestId"] == nil, "\(entry)") }
        let beyond: [JSON] = [
            [:], ["objectId": .string(made.objectId)], ["className": "_Role"], ["className": "Category"],
            ["className": ["$in": ["Product"]]], ["className": "product"],
        ]
        for parameters in beyond {
            #expect(try await editor.client.run("auditEntries", parameters).code == 119, "\(parameters)")
        }
        for role in Desk.roles where role != "catalog-editors" {
            #expect(try await desk.member(of: role).client.run("auditEntries", wanted).code == 119, "\(role)")
        }
        #expect(try await Customer.signUp(desk.suite).client.run("auditEntries", wanted).code == 119)
    }

    /// T14e
    @Test func whatTheMasterKeyLoadsInBulkIsOneEntryForEachGroup() async throws {
        let desk = try await Desk.shared
        let shelf = try await Shelf.fill(desk.suite, names: (0..<12).map { "Bulk \($0) \(Names.random(6))" })
        let id = try #require(shelf.productIds.first)
        let found = try await Self.entry(
            desk, "batch", ["className": "Product", "who": "master key"], containing: id)
        #expect(found["via"] == "masterKey")
        #expect(found["after"]?["create"] == 12)
    }
}
