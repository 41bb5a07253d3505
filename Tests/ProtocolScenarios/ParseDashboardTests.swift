import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// The requests of the community's Parse Dashboard, in its form: that of the JavaScript SDK, with the master key. Each
/// row of docs/guides/parse-dashboard.md names one of these tests. The dashboard's source code defines which members an
/// answer needs.
@Suite struct ParseDashboardTests {
    private static func dashboard() async throws -> ParseClient {
        var client = ParseClient.master(try await Suite.shared)
        client.style = .tunnelled
        client.installationId = "5c0b8a5e-7d1c-4b5e-9a53-0f6f6f6d6173"
        return client
    }

    /// The answer of a call that must succeed.
    private static func call(
        _ method: HTTPMethod, _ path: String, _ body: JSON? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ParseClient.Answer {
        let answer = try await dashboard().call(method, path, body)
        #expect(
            answer.status < 300, "\(method) \(path): \(answer.text.prefix(300))", sourceLocation: sourceLocation)
        return answer
    }

    /// `Parse.Query.find`.
    private static func find(
        _ className: String, _ condition: JSON = [:], _ options: JSON = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ParseClient.Answer {
        var body = options
        body["where"] = condition
        return try await call(.GET, "/classes/\(className)", body, sourceLocation: sourceLocation)
    }

    /// `Parse.Query.count`.
    private static func count(
        _ className: String, _ condition: JSON = [:], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Int64? {
        try await find(className, condition, ["limit": 0, "count": 1], sourceLocation: sourceLocation)["count"]?
            .intValue
    }

    // MARK: - The menu

    /// `DashboardView` shows a page for each feature that is true.
    @Test func theMenuHasAPageForEachFeature() async throws {
        let info = try await Self.call(.GET, "/serverInfo")
        #expect(info["parseServerVersion"]?.stringValue?.isEmpty == false)
        for path in [
            ["schemas", "addField"], ["schemas", "removeField"], ["schemas", "addClass"], ["schemas", "removeClass"],
            ["schemas", "clearAllDataFromClass"], ["schemas", "exportClass"],
            ["schemas", "editClassLevelPermissions"], ["schemas", "editPointerPermissions"],
            ["hooks", "create"], ["hooks", "read"], ["hooks", "update"], ["hooks", "delete"],
            ["globalConfig", "create"], ["globalConfig", "read"], ["globalConfig", "update"],
            ["globalConfig", "delete"], ["cloudCode", "jobs"], ["logs", "level"], ["push", "immediatePush"],
            ["push", "storedPushData"], ["push", "pushAudiences"],
        ] {
            #expect(info["features"]?[path[0]]?[path[1]] == true, "\(path)")
        }
        // Features that Satchel lacks are hidden.
        #expect(info["features"]?["cloudCode"]?["viewCode"] == nil)
        #expect(info["features"]?["push"]?["localization"] == false)
        #expect(info["features"]?["analytics"] == nil)
    }

    /// With a wrong key the dashboard shows the server's error text instead of the app.
    @Test func aWrongMasterKeyIsSaid() async throws {
        var client = try await Self.dashboard()
        client.masterKey = "not the key"
        let refused = try await client.get("/serverInfo")
        #expect(refused.status == 403, "\(refused.text)")
        #expect(refused["error"]?.stringValue?.isEmpty == false)
    }

    @Test(arguments: ["/releases/latest", "/scripts/main.js", "/graphql"])
    func whatHostedParseHadAloneIsNotThere(_ path: String) async throws {
        let answer = try await Self.dashboard().get(path)
        #expect(answer.status == 404, "\(answer.text)")
        #expect(answer.code == 108)
    }

    // MARK: - The browser

    /// `SchemaStore`: the list, a class, columns, permissions.
    @Test func classesAndColumnsAreMadeChangedAndDropped() async throws {
        let name = "Dash\(Names.random(8))"
        let made = try await Self.call(.POST, "/schemas/\(name)", ["className": .string(name)])
        #expect(made["fields"]?["objectId"] == ["type": "String"])
        for (field, column) in [
            ("word", ["type": "String", "required": false] as JSON),
            ("owner", ["type": "Pointer", "targetClass": "Category"]),
            ("brands", ["type": "Relation", "targetClass": "Category"]),
        ] {
            let changed = try await Self.call(
                .PUT, "/schemas/\(name)", ["className": .string(name), "fields": .object([field: column])])
            #expect(changed["fields"]?[field]?["type"] == column["type"], "\(changed.text)")
            #expect(changed["fields"]?[field]?["targetClass"] == column["targetClass"], "\(changed.text)")
        }
        let dropped = try await Self.call(
            .PUT, "/schemas/\(name)", ["className": .string(name), "fields": ["word": ["__op": "Delete"]]])
        #expect(dropped["fields"]?["word"] == nil)
        let permissions: JSON = [
            "find": ["*": true], "get": ["*": true], "count": ["*": true], "create": [:], "update": [:], "delete": [:],
            "addField": [:], "protectedFields": ["*": ["secret"]],
        ]
        let closed = try await Self.call(.PUT, "/schemas/\(name)", ["classLevelPermissions": permissions])
        #expect(closed["className"] == .string(name))
        #expect(closed["classLevelPermissions"]?["create"] == [:])
        #expect(closed["classLevelPermissions"]?["protectedFields"] == ["*": ["secret"]])
        let all = try await Self.call(.GET, "/schemas").results
        let listed = try #require(all.first { $0["className"] == .string(name) })
        #expect(listed["fields"]?["owner"]?["targetClass"] == "Category")
        #expect(listed["classLevelPermissions"]?["find"] == ["*": true])
        for each in all { #expect(each["fields"]?["objectId"]?["type"] == "String", "\(each.text("className"))") }
        #expect(try await Self.call(.GET, "/schemas/\(name)")["fields"]?["owner"] != nil)
        _ = try await Self.call(.DELETE, "/schemas/\(name)")
        #expect(try await Self.dashboard().get("/schemas/\(name)").code == 103)
    }

    /// `Browser`: counts, pages, filters, an edited cell, rows of a relation, deleting some rows and all rows.
    @Test func rowsAreCountedPagedEditedRelatedAndPurged() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Dash \(Names.random(6))"])
        let name = "Dash\(Names.random(8))"
        var ids: [String] = []
        for number in 0..<3 {
            let body: JSON = ["text": .string("row \(number)"), "ACL": ["*": ["read": true]]]
            ids.append(try await Self.call(.POST, "/classes/\(name)", body).objectId)
        }
        #expect(try await Self.count(name) == 3)
        let page = try await Self.find(name, [:], ["limit": 2, "skip": 1, "order": "-createdAt"])
        #expect(page.results.count == 2)
        let filtered = try await Self.find(name, ["text": ["$regex": #"\Qrow 1\E"#, "$options": "i"]])
        #expect(filtered.results.map(\.objectId) == [ids[1]])
        let edited = try await Self.call(.PUT, "/classes/\(name)/\(ids[0])", ["text": "new", "ACL": [:]])
        #expect(edited["updatedAt"] != nil)
        let unset = try await Self.call(.PUT, "/classes/\(name)/\(ids[0])", ["text": ["__op": "Delete"]])
        #expect(unset["updatedAt"] != nil)
        let relate: JSON = ["__op": "AddRelation", "objects": [.pointer("Category", shelf.brandId)]]
        _ = try await Self.call(.PUT, "/classes/\(name)/\(ids[0])", ["brands": relate])
        let related: JSON = ["$relatedTo": ["object": .pointer(name, ids[0]), "key": "brands"]]
        #expect(try await Self.find("Category", related).results.map(\.objectId) == [shelf.brandId])
        // If the SDK does not know a relation's class, it queries the owner's class.
        let redirected = try await Self.find(
            name, related, ["redirectClassNameForKey": "brands", "limit": 0, "count": 1])
        #expect(redirected["className"] == "Category")
        #expect(redirected["count"] == 1)
        let removal: JSON = ["method": "DELETE", "path": .string("/parse/classes/\(name)/\(ids[2])"), "body": [:]]
        let batch = try await Self.call(.POST, "/batch", ["requests": [removal]])
        #expect(batch.json.at(0, "success") != nil, "\(batch.text)")
        _ = try await Self.call(.DELETE, "/purge/\(name)")
        #expect(try await Self.count(name) == 0)
    }

    /// `Views`: a pipeline's results as rows of members.
    @Test func viewsAreAggregates() async throws {
        let name = "Dash\(Names.random(8))"
        for number in 0..<4 {
            _ = try await Self.call(
                .POST, "/classes/\(name)", ["kind": .string(number == 3 ? "odd" : "even"), "n": .int(Int64(number))])
        }
        let group: JSON = ["$group": ["_id": "$kind", "sum": ["$sum": "$n"]]]
        let groups = try await Self.call(.GET, "/aggregate/\(name)", ["pipeline": [group, ["$sort": ["sum": -1]]]])
        #expect(groups.results.map { $0["sum"] } == [3, 3])
        #expect(Set(groups.results.map(\.objectId)) == ["odd", "even"])
        let rows = try await Self.call(
            .GET, "/aggregate/\(name)",
            ["pipeline": [["$match": ["kind": "even"]], ["$sort": ["n": -1]], ["$limit": 1], ["$project": ["n": 1]]]])
        #expect(rows.results.map { $0["n"] } == [2])
        #expect(try await Self.call(.GET, "/aggregate/\(name)", ["distinct": "kind"]).results.count == 2)
    }

    /// The protocol's classes, which the browser lists like any other, and the form for signing in as a user.
    @Test func accountsSessionsRolesAndDevicesAreRows() async throws {
        let email = "\(Names.random(10))@example.com".lowercased()
        let user = try await Self.call(
            .POST, "/users", ["username": .string(email), "email": .string(email), "password": "a-long-secret"])
        for name in ["_User", "_Role", "_Session"] {
            #expect(try await Self.find(name, [:], ["limit": 1, "order": "-createdAt"]).results.count == 1, "\(name)")
        }
        for name in ["_Installation", "_Product", "_JobStatus", "_PushStatus", "_Audience"] {
            #expect(try await Self.count(name) != nil, "\(name)")
        }
        _ = try await Self.call(.PUT, "/users/\(user.objectId)", ["email": .string("x\(email)")])
        var guest = try await Self.dashboard()
        guest.masterKey = nil
        let session = try await guest.call(.POST, "/login", ["username": .string(email), "password": "a-long-secret"])
        #expect(session.status == 200, "\(session.text)")
        // “Use as”: the rows that this user sees.
        guest.sessionToken = session["sessionToken"]?.stringValue
        let neighbour = try await Self.call(
            .POST, "/users", ["username": .string("n\(email)"), "password": "a-long-secret"])
        let both: JSON = [.string(user.objectId), .string(neighbour.objectId)]
        let own = try await guest.call(.GET, "/classes/_User", ["where": ["objectId": ["$in": both]]])
        #expect(own.results.map(\.objectId) == [user.objectId])
        _ = try await Self.call(.DELETE, "/users/\(neighbour.objectId)")
        _ = try await Self.call(.DELETE, "/users/\(user.objectId)")
        #expect(try await Self.count("_User", ["objectId": .string(user.objectId)]) == 0)
    }

    @Test func filesAreUploadedAndDeleted() async throws {
        let stored = try await Self.call(
            .POST, "/files/note.txt",
            ["base64": "aGk=", "_ContentType": "text/plain", "fileData": ["metadata": [:], "tags": [:]]])
        #expect(stored["url"]?.stringValue?.hasSuffix(stored["name"]?.stringValue ?? "-") == true, "\(stored.text)")
        _ = try await Self.call(.DELETE, "/files/\(stored["name"]?.stringValue ?? "")")
    }

    /// `ServerConfigStorage`: the dashboard's settings, in a class that only the master key reads.
    @Test func itsOwnSettingsAreKept() async throws {
        let name = "DashConfig\(Names.random(6))"
        let gone: JSON = ["__op": "Delete"]
        let made = try await Self.call(
            .POST, "/classes/\(name)",
            [
                "appId": "satchel", "key": "views.view.1", "bool": gone, "string": gone, "number": gone, "array": gone,
                "object": ["className": "Product", "query": #"[{"$match":{}}]"#], "ACL": [:],
            ])
        let condition: JSON = [
            "appId": "satchel", "key": ["$regex": #"^\Qviews.\E"#], "user": ["$exists": false],
            "object.className": "Product",
        ]
        let found = try await Self.find(name, condition).results
        #expect(found.map(\.objectId) == [made.objectId])
        #expect(found.first?.at("object", "className") == "Product")
        let guest = ParseClient(try await Suite.shared)
        #expect(try await guest.find(name).results.isEmpty)
    }

    // MARK: - Config, webhooks, jobs

    /// `ConfigStore`.
    @Test func parametersAreSetForServersAloneAndDeleted() async throws {
        let name = "dash\(Names.random(8))"
        let set: JSON = ["params": .object([name: ["a": [1]]]), "masterKeyOnly": .object([name: true])]
        #expect(try await Self.call(.PUT, "/config", set)["result"] == true)
        let read = try await Self.call(.GET, "/config")
        #expect(read["params"]?[name] == ["a": [1]])
        #expect(read["masterKeyOnly"]?[name] == true)
        let gone: JSON = .object([name: ["__op": "Delete"]])
        _ = try await Self.call(.PUT, "/config", ["params": gone, "masterKeyOnly": gone])
        let after = try await Self.call(.GET, "/config")
        #expect(after["params"]?[name] == nil)
        #expect(after["masterKeyOnly"]?[name] == nil)
    }

    /// `WebhookStore`: it deletes by `PUT` with an operation.
    @Test func webhooksAreListedAddedEditedAndDeleted() async throws {
        let name = "dash\(Names.random(8))"
        for (list, made, path) in [
            ("/hooks/functions", ["functionName": .string(name)] as JSON, "/hooks/functions/\(name)"),
            (
                "/hooks/triggers", ["triggerName": "beforeSave", "className": .string(name)],
                "/hooks/triggers/\(name)/beforeSave"
            ),
        ] {
            func listed() async throws -> JSON? {
                let all = try await Self.call(.GET, list).json.arrayValue
                return try #require(all).first {
                    $0["functionName"] == .string(name) || $0["className"] == .string(name)
                }
            }
            var body = made
            body["url"] = "https://hooks.example/one"
            let hook = try await Self.call(.POST, list, body)
            #expect(hook.json == body, "\(hook.text)")
            let edited = try await Self.call(.PUT, path, ["url": "https://hooks.example/two"])
            #expect(edited["url"] == "https://hooks.example/two", "\(edited.text)")
            #expect(try await listed()?["url"] == "https://hooks.example/two")
            _ = try await Self.call(.PUT, path, ["__op": "Delete"])
            let after = try await listed()
            #expect(after == nil)
        }
    }

    /// `JobsStore` and `ParseApp`.
    @Test func jobsAreListedRunPlannedAndFollowed() async throws {
        let data = try await Self.call(.GET, "/cloud_code/jobs/data")
        let jobs = try #require(data["jobs"]?.arrayValue)
        #expect(jobs.contains("recountRatings"))
        #expect(data["in_use"]?.arrayValue != nil)
        let run = try await Self.call(
            .POST, "/jobs",
            [
                "description": "Executing from job schedule web console.", "input": [:], "jobName": "recountRatings",
                "when": 0,
            ])
        let id = try #require(run.headers.first(name: "X-Parse-Job-Status-Id"))
        let statuses = try await Self.find("_JobStatus", [:], ["order": "-createdAt"]).results
        let status = try #require(statuses.first { $0.objectId == id })
        #expect(status["jobName"] == "recountRatings")
        #expect(["running", "succeeded"].contains(status["status"]), "\(status)")
        let plan: JSON = [
            "jobName": "recountRatings", "description": "From the dashboard", "params": "{}",
            "startAfter": "2099-01-01T00:00:00.000Z", "timeOfDay": "12:00", "daysOfWeek": ["1"],
        ]
        let made = try await Self.call(.POST, "/cloud_code/jobs", ["job_schedule": plan])
        #expect(!made.objectId.isEmpty, "\(made.text)")
        let schedules = try await Self.call(.GET, "/cloud_code/jobs?per_page=50").json.arrayValue
        #expect(schedules?.contains { $0.objectId == made.objectId } == true)
        _ = try await Self.call(.PUT, "/cloud_code/jobs/\(made.objectId)", ["job_schedule": plan])
        _ = try await Self.call(.DELETE, "/cloud_code/jobs/\(made.objectId)")
    }

    // MARK: - Push, logs, security

    /// `PushAudiencesStore`, `PushNew`, `PushIndex` and `PushDetails`.
    @Test func pushesAreSentToAudiencesAndFollowed() async throws {
        let name = "Dash \(Names.random(6))"
        let channel = "dash\(Names.random(8))"
        let condition: JSON = ["channels": .string(channel)]
        let made = try await Self.call(
            .POST, "/push_audiences", ["query": .string(condition.serializedText), "name": .string(name)])
        // The dashboard reads a listed audience's condition as an object.
        let listed = try await Self.call(.GET, "/push_audiences?limit=1000").results
        #expect(listed.first { $0.objectId == made.objectId }?["query"] == condition)
        // A query of the class returns the condition as a string, which the dashboard parses.
        let one = try await Self.find("_Audience", ["objectId": .string(made.objectId)], ["limit": 1]).results
        #expect(one.first?["query"] == .string(condition.serializedText))
        #expect(try await Self.count("_Installation", condition) == 0)
        let sent = try await Self.call(
            .POST, "/push",
            [
                "data": ["alert": "Hello", "badge": "Increment"], "where": condition,
                "audience_id": .string(made.objectId),
            ])
        #expect(sent["result"] == true)
        let id = try #require(sent.headers.first(name: "X-Parse-Push-Status-Id"))
        let pushes = try await Self.find(
            "_PushStatus", ["source": "rest"], ["skip": 0, "limit": 10, "order": "-createdAt"])
        for field in ["pushTime", "status", "payload", "query", "numSent"] {
            #expect(pushes.results.first?[field] != nil, "\(field)")
        }
        let details = try await Self.find("_PushStatus", ["objectId": .string(id)], ["limit": 1]).results
        #expect(details.first?["query"] == .string(condition.serializedText), "\(details)")
        _ = try await Self.call(.DELETE, "/push_audiences/\(made.objectId)")
    }

    @Test(arguments: ["/scriptlog?level=info&n=100", "/scriptlog?level=error&n=100&startDate=1700000000000"])
    func logLinesHaveWhatTheDashboardShows(_ path: String) async throws {
        let lines = try #require(try await Self.call(.GET, path).json.arrayValue)
        #expect(lines.count <= 100)
        for line in lines.prefix(5) {
            #expect(line["message"]?.stringValue != nil, "\(line)")
            #expect(line["timestamp"]?.stringValue != nil, "\(line)")
        }
        let refused = try await Self.dashboard().get("/scriptlog?startDate=yesterday")
        #expect(refused.code == 102, "\(refused.text)")
    }

    /// `Security` shows groups of checks; a failed check names the problem and the solution.
    @Test func theSecurityReportHasGroupsOfChecks() async throws {
        let report = try #require(try await Self.call(.GET, "/security")["report"])
        #expect(["success", "fail"].contains(report["state"]), "\(report)")
        let groups = try #require(report["groups"]?.arrayValue)
        #expect(!groups.isEmpty)
        for group in groups {
            #expect(!group.text("name").isEmpty && group["state"] != nil)
            for check in try #require(group["checks"]?.arrayValue) {
                #expect(!check.text("title").isEmpty, "\(check)")
                guard check["state"] != "success" else { continue }
                #expect(!check.text("warning").isEmpty && !check.text("solution").isEmpty, "\(check)")
            }
        }
    }

    /// Functions run from the browser's menu and as the rows of a view.
    @Test func functionsRunWithTheMasterKey() async throws {
        let answer = try await Self.call(.POST, "/functions/nearestStores", ["latitude": 1, "longitude": 2])
        #expect(answer.result.arrayValue != nil, "\(answer.text)")
    }
}
