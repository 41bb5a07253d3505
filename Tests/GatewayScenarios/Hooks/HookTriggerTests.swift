import ParseProtocol
import TestSupport
import Testing

/// Triggers on other hosts: before a change or read they decide about it, afterwards they are notified. Values that
/// they set pass the same checks as clients' values.
@Suite struct HookTriggerTests {
    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func beforeSaveSetsFieldsOfCreatesAndUpdates(_ style: ParseClient.Style) async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        try await host.trigger("beforeSave", name, ["json": ["success": ["checked": true, "score": 7]]])
        let client = ParseClient(host.suite, style: style)
        let created = try await client.create(name, ["score": 1, "player": "Ann"])
        #expect(created.status == 201, "\(created.text)")
        #expect(created["checked"] == true, "\(created.text)")
        #expect(created["score"] == 7, "\(created.text)")
        let stored = try await client.get("/classes/\(name)/\(created.objectId)")
        #expect(stored["score"] == 7)
        #expect(stored["player"] == "Ann")
        #expect(stored["checked"] == true)
        let told = try #require(host.calls("\(name)-beforeSave").last?["body"])
        #expect(told["object"] == ["score": 1, "player": "Ann", "className": .string(name)])
        #expect(told["original"] == nil)
        #expect(told["triggerName"] == "beforeSave")
        #expect(told["master"] == false)

        try await host.answer("\(name)-beforeSave", ["json": ["success": ["level": "high"]]])
        let updated = try await client.call(
            .PUT, "/classes/\(name)/\(created.objectId)",
            [
                "score": ["__op": "Increment", "amount": 3], "tags": ["__op": "AddUnique", "objects": ["a"]],
                "player": ["__op": "Delete"],
            ])
        #expect(updated["level"] == "high", "\(updated.text)")
        #expect(updated["score"] == 10, "\(updated.text)")
        #expect(updated["tags"] == ["a"], "\(updated.text)")
        let second = try #require(host.calls("\(name)-beforeSave").last?["body"])
        #expect(second.at("original", "score") == 7)
        #expect(second.at("original", "player") == "Ann")
        #expect(second.at("object", "score") == 10)
        #expect(second.at("object", "tags") == ["a"])
        #expect(second.at("object", "player") == nil)
        #expect(second.at("object", "objectId")?.stringValue == created.objectId)
    }

    @Test func aHookThatSendsTheWholeObjectBackChangesNothing() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        try await host.trigger("beforeSave", name, ["how": "echo"])
        let client = ParseClient(host.suite)
        let created = try await client.create(name, ["score": 1])
        let path = "/classes/\(name)/\(created.objectId)"
        // Update operators are preserved: no concurrent increment is lost.
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    try await client.call(.PUT, path, ["score": ["__op": "Increment", "amount": 1]]).status
                }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(try await client.get(path)["score"] == 11)
    }

    /// The gateway completes an accepted change even if the client disconnects: the change is stored, and subscribers
    /// are notified.
    @Test(arguments: [false, true])
    func aClientThatGoesBeforeItsAnswerKeepsNothingFromWebhooks(_ isBatch: Bool) async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Gone")
        try await host.trigger(
            "beforeSave", name, ["how": "slow", "seconds": 2, "json": ["success": ["checked": true]]])
        try await host.trigger("afterSave", name)
        let object: JSON = ["score": 7]
        let item: JSON = ["method": "POST", "path": .string("/parse/classes/\(name)"), "body": object]
        let body = (isBatch ? ["requests": [item]] : object).serializedText
        do {
            let connection = try RawConnection(host.suite)
            let path = isBatch ? "batch" : "classes/\(name)"
            let head = """
                POST /parse/\(path) HTTP/1.1
                Host: x
                X-Parse-Application-Id: satchel
                Content-Length: \(body.utf8.count)


                """
            connection.send(Array((head.replacing("\n", with: "\r\n") + body).utf8))
            try await eventually("the first webhook decides") { host.calls("\(name)-beforeSave").count == 1 }
            withExtendedLifetime(connection) {}
        }
        try await eventually("the second one is told") { !host.calls("\(name)-afterSave").isEmpty }
        let told = host.calls("\(name)-afterSave").first?.at("body", "object")
        #expect(told?["score"] == 7)
        #expect(told?["checked"] == true)
        #expect(told?.objectId.isEmpty == false)
        let stored = try await ParseClient(host.suite).find(name).results
        #expect(stored.map(\.objectId) == [told?.objectId ?? ""], "\(stored)")
    }

    /// The gateway caches that all clients may create objects, while that holds.
    @Test func hooksNeedTheRightToCreate() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Closed")
        try await host.trigger("beforeSave", name, ["json": ["success": ["checked": true]]])
        let client = ParseClient(host.suite)
        for _ in 1...3 {
            let created = try await client.create(name, ["text": "a"])
            #expect(created["checked"] == true, "\(created.text)")
        }
        func permit(_ changes: JSON) async throws {
            var permissions: JSON = ["find": ["*": true], "get": ["*": true], "create": ["*": true], "addField": [:]]
            for (action, grants) in changes.objectValue ?? [:] { permissions[action] = grants }
            let changed = try await host.master.call(
                .PUT, "/schemas/\(name)", ["classLevelPermissions": permissions])
            #expect(changed.status == 200, "\(changed.text)")
        }
        try await permit(["protectedFields": ["*": ["checked"]]])
        for _ in 1...2 {
            let hidden = try await client.create(name, ["text": "b"])
            #expect(hidden.status == 201, "\(hidden.text)")
            #expect(hidden["checked"] == nil, "\(hidden.text)")
        }
        #expect(host.calls("\(name)-beforeSave").count == 5)
        // The client may not add a field that the class lacks.
        #expect(try await client.create(name, ["text": "c", "other": 1]).code == 119)
        try await permit(["create": [:]])
        #expect(try await client.create(name, ["text": "d"]).code == 119)
        #expect(host.calls("\(name)-beforeSave").count == 5)
        #expect(try await host.master.create(name, ["text": "e"])["checked"] == true)
        #expect(try await client.find(name).results.count == 6)
    }

    @Test func beforeSaveRefusesWithItsText() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let order: JSON = [
            "how": "refuse", "field": "score", "value": -1, "error": ["code": 142, "message": "no negative scores"],
        ]
        try await host.trigger("beforeSave", name, order)
        let client = ParseClient(host.suite)
        let good = try await client.create(name, ["score": 1])
        #expect(good.status == 201)
        let refused = try await client.create(name, ["score": -1])
        #expect(refused.code == 142)
        #expect(refused["error"] == "no negative scores")
        let update = try await client.call(.PUT, "/classes/\(name)/\(good.objectId)", ["score": -1])
        #expect(update.code == 142)
        #expect(try await client.find(name).results.map { $0["score"] } == [1])
    }

    @Test func itemsOfABatchAreAskedAboutOneByOne() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let order: JSON = ["how": "refuse", "field": "score", "value": -1, "error": "no"]
        try await host.trigger("beforeSave", name, order)
        let client = ParseClient(host.suite)
        let requests = [1, -1, 3].map { score -> JSON in
            ["method": "POST", "path": .string("/parse/classes/\(name)"), "body": ["score": .int(score)]]
        }
        let batch = try await client.call(.POST, "/batch", ["requests": .array(requests)])
        #expect(batch.json.at(0, "success") != nil)
        #expect(batch.json.at(2, "success") != nil)
        #expect(batch.json.at(1, "error", "code") == 141)
        #expect(batch.json.at(1, "error", "error") == "no")
        #expect(try await client.find(name).results.count == 2)
        // All or nothing.
        let atomic = try await client.call(.POST, "/batch", ["requests": .array(requests), "transaction": true])
        #expect(atomic.code == 141, "\(atomic.text)")
        #expect(try await client.find(name).results.count == 2)
    }

    @Test func theServicesOwnRulesDecideAfterTheHook() async throws {
        try await WebhookHost.with { host in
            // The server sets the price of a bag's item, whatever a hook returns; an empty title from a hook is
            // refused.
            try await host.trigger("beforeSave", "OrderItem", ["json": ["success": ["unitPrice": 0, "price": 0]]])
            try await host.trigger("beforeSave", "Page", ["json": ["success": ["title": " "]]])
            let page = try await host.master.create(
                "Page", ["name": .string("p-\(Names.random(6).lowercased())"), "title": "T", "content": ""])
            #expect(page.code == 142, "\(page.text)")
            #expect(host.calls("Page-beforeSave").count == 1)
        }
    }

    @Test func beforeDeleteRefusesAndAfterDeleteHears() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let order: JSON = ["how": "refuse", "field": "locked", "value": true, "error": "it is locked"]
        try await host.trigger("beforeDelete", name, order)
        try await host.trigger("afterDelete", name)
        let client = ParseClient(host.suite)
        let locked = try await client.create(name, ["locked": true])
        let open = try await client.create(name, ["locked": false])
        let refused = try await client.call(.DELETE, "/classes/\(name)/\(locked.objectId)")
        #expect(refused.code == 141)
        #expect(refused["error"] == "it is locked")
        #expect(try await client.call(.DELETE, "/classes/\(name)/\(open.objectId)").status == 200)
        #expect(try await client.find(name).results.map(\.objectId) == [locked.objectId])
        try await eventually("afterDelete is called") { !host.calls("\(name)-afterDelete").isEmpty }
        let told = host.calls("\(name)-afterDelete").compactMap { $0["body"] }
        try #require(told.count == 1)
        #expect(told[0].at("object", "objectId")?.stringValue == open.objectId)
    }

    @Test func afterSaveRunsLaterWithoutDelay() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let slow: JSON = ["how": "slow", "seconds": 30]
        try await host.trigger("afterSave", name, slow)
        let client = ParseClient(host.suite)
        let start = ContinuousClock.now
        let created = try await client.create(name, ["score": 1])
        let updated = try await client.call(.PUT, "/classes/\(name)/\(created.objectId)", ["score": 2])
        // The hook runs into its timeout twice.
        #expect(ContinuousClock.now - start < .seconds(2 * WebhookHost.timeoutSeconds))
        #expect(created.status == 201)
        #expect(updated.status == 200)
        try await eventually("afterSave is called twice") { host.calls("\(name)-afterSave").count == 2 }
        let told = host.calls("\(name)-afterSave").compactMap { $0["body"] }
        let update = try #require(told.first { $0["original"] != nil })
        #expect(update.at("original", "score") == 1)
        #expect(update.at("object", "score") == 2)
        #expect(told.allSatisfy { $0.at("object", "objectId")?.stringValue == created.objectId })
    }

    /// A failing beforeSave: the same answers as for a function, and nothing is written.
    @Test(arguments: HookTests.troubles) func aBrokenHostStopsTheSave(_ order: JSON, _ text: String) async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let client = ParseClient(host.suite)
        let first = try await client.create(name, ["score": 1])
        for trigger in ["beforeSave", "beforeDelete"] { try await host.trigger(trigger, name, order) }
        let path = "/classes/\(name)/\(first.objectId)"
        for answer in [
            try await client.create(name, ["score": 2]), try await client.call(.PUT, path, ["score": 3]),
            try await client.call(.DELETE, path),
        ] {
            // Deleting accepts any success value; saving accepts any object.
            #expect(answer.code == 141, "\(answer.text)")
            #expect(answer["error"]?.stringValue?.hasPrefix(text) == true, "\(answer.text)")
        }
        #expect(try await client.find(name).results.map { $0["score"] } == [1])
    }

    @Test func beforeFindNarrowsAndRefuses() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let client = ParseClient(host.suite)
        for score in 1...4 { _ = try await client.create(name, ["score": .int(Int64(score)), "note": "n"]) }
        let all = try await client.find(name, [:], ["order": "score"]).results
        let narrowed: JSON = ["where": ["score": ["$gte": 3]], "keys": "score"]
        try await host.trigger("beforeFind", name, ["json": ["success": narrowed]])
        let found = try await client.find(name, ["score": ["$gte": 2]], ["count": 1])
        #expect(found.results.compactMap { $0["score"]?.intValue }.sorted() == [3, 4])
        #expect(found["count"] == 2)
        #expect(found.results.allSatisfy { $0["note"] == nil })
        let told = try #require(host.calls("\(name)-beforeFind").last?["body"])
        #expect(told.at("query", "where") == ["score": ["$gte": 2]])
        #expect(told["count"] == true)
        #expect(told["isGet"] == false)
        // A read by id does not bypass the restriction.
        #expect(try await client.get("/classes/\(name)/\(all[0].objectId)").code == 101)
        let last = try await client.get("/classes/\(name)/\(all[3].objectId)")
        #expect(last["score"] == 4)
        #expect(last["note"] == nil)
        try await host.answer("\(name)-beforeFind", ["json": ["error": ["code": 119, "message": "not for you"]]])
        for answer in [try await client.find(name), try await client.get("/classes/\(name)/\(all[3].objectId)")] {
            #expect(answer.code == 119)
            #expect(answer["error"] == "not for you")
        }
    }

    @Test func anExportComesPastItsHookOnEveryPage() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let client = ParseClient(host.suite)
        var ids: [String] = []
        for _ in 1...3 { ids.append(try await client.create(name, ["note": "n"]).objectId) }
        // The other objects come later in an export. The hook's condition replaces the complete condition, whichever
        // page it runs for.
        let first = try #require(ids.min())
        let narrowed: JSON = ["where": ["objectId": .string(first)]]
        try await host.trigger("beforeFind", name, ["json": ["success": narrowed]])
        let exported = try await host.master.get("/export/\(name)")
        #expect(exported.status == 200, "\(exported.text)")
        #expect(exported.results.map { $0["objectId"]?.stringValue } == [first], "\(exported.text)")
        let unchanged: JSON = ["success": [:]]
        try await host.answer("\(name)-beforeFind", ["json": unchanged])
        let all = try await host.master.get("/export/\(name)")
        #expect(all.results.compactMap { $0["objectId"]?.stringValue } == ids.sorted(), "\(all.text)")
    }

    @Test func afterFindChangesWhatIsAnswered() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("Game")
        let client = ParseClient(host.suite)
        let created = try await client.create(name, ["score": 1, "secret": "s"])
        let id = JSON.string(created.objectId)
        let changed: JSON = [["objectId": id, "score": 100, "className": .string(name)]]
        try await host.trigger("afterFind", name, ["json": ["success": changed]])
        let found = try await client.find(name)
        #expect(found.results == [["objectId": id, "score": 100]], "\(found.text)")
        #expect(try await client.get("/classes/\(name)/\(created.objectId)").json == ["objectId": id, "score": 100])
        let told = try #require(host.calls("\(name)-afterFind").last?["body"])
        #expect(told.at("objects", 0, "secret") == "s")
        #expect(told.at("objects", 0, "className") == .string(name))
        for unchanged: JSON in [["success": [:]], ["success": .null]] {
            try await host.answer("\(name)-afterFind", ["json": unchanged])
            #expect(try await client.find(name).results.first?["secret"] == "s")
        }
        for odd: JSON in [["success": "x"], ["success": [1]]] {
            try await host.answer("\(name)-afterFind", ["json": odd])
            #expect(try await client.find(name).code == 141)
        }
    }
}
