import ParseProtocol
import TestSupport
import Testing

/// Webhooks as hosts with Parse's own libraries write them.
@Suite struct ClientHookTests {
    @Test(arguments: ["price-of", "shop.price", "price_of"])
    func aFunctionsNameMayHaveMarks(_ stem: String) async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name(stem)
        try await host.function(name, ["json": ["success": "called"]])
        #expect(try await ParseClient(host.suite).run(name).result == "called")
        #expect(try await host.master.get("/hooks/functions/\(name)")["functionName"] == .string(name))
        #expect(try await host.master.call(.DELETE, "/hooks/functions/\(name)").json == [:])
        #expect(try await ParseClient(host.suite).run(name).code == 141)
    }

    @Test func anEmptyAnswerIsNoResult() async throws {
        let host = try await WebhookHost.shared
        let (function, name) = (WebhookHost.name("none"), WebhookHost.name("None"))
        try await host.function(function, ["json": [:]])
        let answer = try await ParseClient(host.suite).run(function)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json == ["result": .null], "\(answer.text)")
        let triggers = ["beforeSave", "afterSave", "beforeFind", "afterFind", "beforeDelete", "afterDelete"]
        for trigger in triggers { try await host.trigger(trigger, name, ["json": [:]]) }
        let client = ParseClient(host.suite)
        let created = try await client.create(name, ["n": 1])
        #expect(created.status == 201, "\(created.text)")
        #expect(try await client.find(name).results.first?["n"] == 1)
        #expect(try await client.call(.DELETE, "/classes/\(name)/\(created.objectId)").status == 200)
    }

    @Test func aFieldThatBeforeSaveRemovesIsToldSo() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Removed")
        let removes: JSON = ["json": ["success": ["gone": ["__op": "Delete"], "kept": 2]]]
        try await host.trigger("beforeSave", name, removes)
        let client = ParseClient(host.suite)
        let body: JSON = ["gone": 1, "kept": 1]
        let created = try await client.create(name, body)
        #expect(created["gone"] == ["__op": "Delete"], "\(created.text)")
        #expect(created["kept"] == 2, "\(created.text)")
        let path = "/classes/\(name)/\(created.objectId)"
        #expect(try await client.call(.PUT, path, ["gone": 3])["gone"] == ["__op": "Delete"])
        var script = client
        script.style = .tunnelled
        #expect(try await script.create(name, body)["gone"] == ["__op": "Delete"])
        let item: JSON = ["method": "POST", "path": .string("/parse/classes/\(name)"), "body": body]
        let batch = try await client.call(.POST, "/batch", ["requests": [item, item]])
        #expect(batch.json.at(1, "success", "gone") == ["__op": "Delete"], "\(batch.text)")
        let phone = try await client.send(
            .POST, "/classes/\(name)", headers: client.credentials + [("X-Parse-Client-Version", "i1.8.5")],
            body: body.serialized)
        #expect(phone.status == 201, "\(phone.text)")
        #expect(phone["gone"] == nil, "\(phone.text)")
        #expect(phone["kept"] == 2, "\(phone.text)")
        #expect(try await client.find(name).results.allSatisfy { $0["gone"] == nil && $0["kept"] == 2 })
    }

    /// With `SATCHEL_WEBHOOK_AWAIT_AFTER` the answer comes after the after-hooks have run. An afterDelete's error
    /// becomes the answer, an afterSave's does not.
    @Test func anOperatorMayHaveAfterHooksAwaited() async throws {
        let host = try await ClientSuites.proxied
        let name = WebhookHost.name("Awaited")
        for trigger in ["afterSave", "afterDelete"] {
            try await host.trigger(trigger, name, ["json": ["error": "too late"]])
        }
        let client = ParseClient(host.suite)
        let created = try await client.create(name, ["n": 1])
        #expect(created.status == 201, "\(created.text)")
        #expect(host.calls("\(name)-afterSave").count == 1, "\(created.text)")
        let deleted = try await client.call(.DELETE, "/classes/\(name)/\(created.objectId)")
        #expect(deleted.code == 141 && deleted["error"] == "too late", "\(deleted.text)")
        #expect(host.calls("\(name)-afterDelete").count == 1, "\(deleted.text)")
    }
}
