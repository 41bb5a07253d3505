import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Unmodified Sentry SDKs report to the suite, and an operator gets a short list of the problems of each release.
@Suite struct CrashTests {
    // MARK: - The SDK

    /// The unmodified SDK from PyPI, which compresses with gzip: a real exception, resolved in 1.0.0, recurs in 1.1.0.
    @Test(.timeLimit(.minutes(10)))
    func thePythonSDKReportsARealException() async throws {
        let project = try await CrashProject.create(try await Suite.shared)
        func run(_ release: String, _ what: String) async throws -> String {
            let script = "\(checkoutDirectory)/Tests/Peers/clients/sentry_report.py"
            let text = try await Command.run([Peer.python, script, project.dsn, release, what])
            return try JSON(parsing: text.trimmingCharacters(in: .whitespacesAndNewlines)).text("event_id")
        }
        let eventId = try await run("shop@1.0.0", "bag")
        _ = try await run("shop@1.0.0", "total")
        var issues = try await project.issues()
        #expect(issues.map { $0.text("title") } == ["ZeroDivisionError: division by zero", "KeyError: 'serum'"])
        let issueId = try #require(issues.last?.text("issueId"))
        let issue = try await project.admin.run("crashIssue", ["issueId": .string(issueId)]).result
        #expect(issue.text("culprit").hasSuffix("in add_to_bag"))
        #expect(issue["platform"] == "python")
        #expect(issue.at("events", 0, "id") == .string(eventId))
        #expect(issue.at("releases", 0, "release") == "shop@1.0.0")
        #expect(issue["users"] == 1)
        #expect(issue.at("stack", 0)?.stringValue?.hasSuffix("in add_to_bag") == true)
        let text = issue.serializedText
        #expect(!text.contains("hunter-2"), "Secrets are not kept.")
        let user = issue.at("event", "user")
        #expect(user?["id"] == "peer-user", "Addresses are not kept.")
        #expect(user?["ip_address"] == nil, "Addresses are not kept.")

        #expect(
            try await project.admin.run("resolveCrashIssue", ["issueId": .string(issueId)]).result["resolvedIn"]
                == "shop@1.0.0")
        _ = try await run("shop@1.0.0", "bag")
        #expect(try await project.issues(["status": "resolved"]).first?["count"] == 2)
        _ = try await run("shop@1.1.0", "bag")
        issues = try await project.issues(["status": "regression"])
        #expect(issues.map { $0.text("issueId") } == [issueId])
        #expect(issues.first?["count"] == 3)
        #expect(try await project.issues(["release": "shop@1.1.0"]).count == 1)
        #expect(try await project.issues(["release": "shop@1.0.0"]).count == 2)
    }

    // MARK: - Keys

    @Test func onlyAProjectsKeyOpensIt() async throws {
        let suite = try await Suite.shared
        let project = try await CrashProject.create(suite)
        let body = CrashProject.envelope("E", release: "1.0", eventId: CrashProject.newId())
        let missing = try await project.send(body, key: nil)
        #expect(missing.status == 401, "\(missing.text)")
        #expect(missing["detail"]?.stringValue?.isEmpty == false, "\(missing.text)")
        #expect(missing.headers.first(name: "X-Sentry-Error") != nil)
        for wrong in ["0123456789abcdef0123456789abcdef", "'", "", String(repeating: "a", count: 1500)] {
            #expect([401, 403].contains(try await project.send(body, key: wrong).status))
        }
        let other = try await CrashProject.create(suite)
        #expect(try await project.send(body, key: other.key).status == 403)
        for id in ["0", "999999", "one", "0\(project.id)", "-1", "%00"] {
            #expect(try await project.send(body, key: project.key, project: id).status == 403, "\(id)")
        }
        #expect(try await project.issues().isEmpty)

        #expect(try await project.send(body, key: nil, query: "?sentry_key=\(project.key)").status == 200)
        let own = CrashProject.envelope("E", release: "1.0", eventId: CrashProject.newId(), dsn: project.dsn)
        #expect(try await project.send(own, key: nil).status == 200)
        #expect(try await project.issues().first?["count"] == 2)

        #expect(try await project.admin.run("disableCrashKey", ["key": .string(project.key)]).status == 200)
        #expect(try await project.send(body, key: project.key).status == 403)
        #expect(try await project.admin.run("disableCrashKey", ["key": "none"]).code == 101)
        let projects = try await project.admin.run("crashProjects").result.arrayValue ?? []
        let mine = projects.first { $0["projectId"] == .string(project.id) }
        #expect(mine?.at("keys", 0, "disabled") == true)
        #expect(mine?.at("keys", 0, "dsn") == .string(project.dsn))
        #expect(projects.first?["name"] == "default")
        let file = "\(suite.dataDirectory)/crash.key"
        let key = try String(contentsOfFile: file, encoding: .utf8)
        #expect(projects.first?.at("keys", 0, "key") == .string(key))
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func aStoreRequestIsAnEvent() async throws {
        let project = try await CrashProject.create(try await Suite.shared)
        let id = CrashProject.newId()
        let event: JSON = ["event_id": .string(id), "message": "order 17 is late", "release": "1.0"]
        for _ in 0..<2 {
            let answer = try await project.send(event.serialized, to: "store", key: project.key)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer["id"] == .string(id), "\(answer.text)")
        }
        let issue = try await project.issues().first
        #expect(issue?["title"] == "order 17 is late", "A repeated event counts once.")
        #expect(issue?["count"] == 1, "A repeated event counts once.")
        let listed = try await project.admin.run("crashReports", ["limit": 1000]).result.arrayValue ?? []
        let report = listed.first { $0["id"] == .string(id) }
        #expect(report?["message"] == "order 17 is late")
        #expect(report?["issueId"] == issue?["issueId"])
    }

    @Test func issuesAreFoundByTheirText() async throws {
        let project = try await CrashProject.create(try await Suite.shared)
        try await project.report("BagError", release: "1.0")
        try await project.report("100%_Error", release: "1.0")
        func titles(_ search: JSON) async throws -> [String] {
            try await project.issues(["search": search]).map { String($0.text("title").prefix(9)) }
        }
        #expect(try await titles("bagerror") == ["BagError:"])
        #expect(try await titles("error CHECKOUT").count == 2, "Words may be in the title and in the culprit.")
        #expect(try await titles("bag 100").isEmpty)
        #expect(try await titles("0%_e") == ["100%_Erro"], "A wildcard is a character like any other.")
        #expect(try await titles("_").count == 1)
        let long = JSON.string(String(repeating: "a", count: 201))
        #expect(try await project.admin.run("crashIssues", ["search": long]).code == 142)
        #expect(try await project.admin.run("crashIssues", ["search": 5]).code == 142)
    }

    @Test func browsersMaySend() async throws {
        let project = try await CrashProject.create(try await Suite.shared)
        var client = ParseClient(project.suite)
        client.url = project.suite.url.replacingOccurrences(of: "/parse", with: "")
        let preflight = try await client.send(
            .OPTIONS, "/api/\(project.id)/envelope/?sentry_key=\(project.key)",
            headers: [("Origin", "https://shop.example")])
        #expect(preflight.status == 200)
        #expect(preflight.headers.first(name: "Access-Control-Allow-Origin") == "*")
        #expect(preflight.headers.first(name: "Access-Control-Allow-Headers")?.contains("X-Sentry-Auth") == true)
        let answer = try await project.send(Array("{}".utf8), key: project.key)
        #expect(answer.status == 200)
        #expect(answer.headers.first(name: "Access-Control-Allow-Origin") == "*")
        #expect(answer.headers.first(name: "Access-Control-Expose-Headers")?.contains("X-Sentry-Rate-Limits") == true)
    }

    // MARK: - Bad input

    private static func python(_ expression: String) async throws -> [UInt8] {
        let program = "import base64, gzip, zlib; print(base64.b64encode(\(expression)).decode())"
        let text = try await Command.run(["python3", "-c", program]).trimmingCharacters(in: .whitespacesAndNewlines)
        return Array(try #require(Data(base64Encoded: text)))
    }

    @Test func hostileReportsAreRefusedAndEndNothing() async throws {
        let project = try await CrashProject.create(try await Suite.shared)
        let crash = project.suite.processId(of: "crash-1")
        func status(_ body: [UInt8], _ encoding: String? = nil, to endpoint: String = "envelope") async throws -> Int {
            try await project.send(body, to: endpoint, key: project.key, encoding: encoding).status
        }
        let good = "b'{}\\n{\"type\":\"event\"}\\n{\"message\":\"good\"}'"
        #expect(try await status(Self.python("gzip.compress(\(good))"), "gzip") == 200)
        #expect(try await status(Self.python("zlib.compress(\(good))"), "deflate") == 200)
        #expect(try await status(Self.python("gzip.compress(\(good))[:-9]"), "gzip") == 400)
        #expect(try await status(Self.python(good), "gzip") == 400)
        #expect(try await status(Self.python("gzip.compress(\(good))")) == 400)
        for encoding in ["br", "zstd", "gzip, gzip"] { #expect(try await status(Self.python(good), encoding) == 415) }
        #expect(try await status(Self.python("gzip.compress(bytes(1 << 28))"), "gzip") == 413)
        #expect(try await status(Array(repeating: 120, count: 2 << 20)) == 413)
        #expect(try await status(Self.python("b'{}\\n' + b'{\"type\":\"x\"}\\n{}\\n' * 10000")) == 400)
        #expect(try await status(Self.python("b'{\"a\":' + b'[' * 100000")) == 400)
        #expect(try await status(Self.python("b'{\"message\":' + b'[' * 60 + b']' * 60 + b'}'"), to: "store") == 200)
        #expect(try await status(Self.python("b'{\"message\":\"\\xc3\\x28\"}'"), to: "store") == 400)
        #expect(
            try await status(Self.python("b'{}\\n{\"type\":\"event\",\"length\":99999999999999999999}\\n{}'")) == 400)
        #expect(try await status([]) == 400)
        #expect(try await project.send([], to: "other", key: project.key).status == 404)
        #expect(project.suite.processId(of: "crash-1") == crash)
    }

    @Test func aKeyThatSendsTooMuchIsToldToWait() async throws {
        try await Suite.with(settings: ["SATCHEL_CRASH_REPORTS_PER_MINUTE": "5"]) { suite in
            let project = try await CrashProject.create(suite)
            var refused: ParseClient.Answer?
            for _ in 0..<7 {
                let answer = try await project.send(
                    CrashProject.envelope("E", release: "1.0", eventId: CrashProject.newId()), key: project.key)
                if answer.status != 200 { refused = answer }
            }
            let answer = try #require(refused)
            #expect(answer.status == 429)
            let seconds = try #require(answer.headers.first(name: "Retry-After").flatMap(Int.init))
            #expect((1...60).contains(seconds))
            #expect(answer.headers.first(name: "X-Sentry-Rate-Limits") == "\(seconds)::key")
            let other = try await CrashProject.create(suite)
            try await other.report("E", release: "1.0")
            #expect(try await project.issues().first?["count"] == 5)
        }
    }

    // MARK: - Operators

    @Test func issuesAreResolvedIgnoredAndReopenedByAdmins() async throws {
        let project = try await CrashProject.create(try await Suite.shared)
        try await project.report("OutOfBag", release: "shop@1.0.0+3", user: "u1")
        try await project.report("OutOfBag", release: "shop@1.0.0+3", user: "u2")
        try await project.report("NoStock", release: "shop@1.0.0+3")
        let issue = try #require(try await project.issues().last)
        #expect(issue["title"] == "OutOfBag: index 7")
        #expect(issue["culprit"] == "Shop in checkout()")
        #expect(issue["count"] == 2)
        #expect(issue["users"] == 2)
        #expect(issue["status"] == "unresolved")
        #expect(issue["level"] == "fatal")
        let id: JSON = ["issueId": issue["issueId"] ?? ""]
        func status() async throws -> JSON? { try await project.admin.run("crashIssue", id).result["status"] }

        var resolve = id
        resolve["inRelease"] = "shop@1.1.0"
        #expect(try await project.admin.run("resolveCrashIssue", resolve).result["status"] == "resolved")
        try await project.report("OutOfBag", release: "shop@1.1.0+3")
        try await project.report("OutOfBag", release: "shop@0.9.0")
        #expect(try await status() == "resolved")
        try await project.report("OutOfBag", release: "shop@1.1.1")
        #expect(try await status() == "regression")
        #expect(try await project.admin.run("ignoreCrashIssue", id).result["status"] == "ignored")
        try await project.report("OutOfBag", release: "shop@9.0.0")
        #expect(try await status() == "ignored")
        #expect(try await project.admin.run("reopenCrashIssue", id).result["status"] == "unresolved")
        let whole = try await project.admin.run("crashIssue", id).result
        #expect(whole["count"] == 6)
        #expect(whole["releases"]?.arrayValue?.count == 5)

        let functions = [
            "crashReports", "crashIssues", "crashIssue", "crashProjects", "resolveCrashIssue", "ignoreCrashIssue",
            "reopenCrashIssue", "createCrashProject", "disableCrashKey",
        ]
        for name in functions { #expect(try await ParseClient(project.suite).run(name, id).code == 119, "\(name)") }
        for name in ["crashIssue", "resolveCrashIssue", "ignoreCrashIssue", "reopenCrashIssue"] {
            #expect(try await project.admin.run(name, ["issueId": "none"]).code == 101, "\(name)")
            #expect(try await project.admin.run(name, [:]).code == 142, "\(name)")
        }
        for name in ["crashTrend", "crashFreeRate"] {
            #expect(try await ParseClient(project.suite).run(name).code == 119, "\(name)")
            #expect(try await project.admin.run(name, ["from": "yesterday"]).code == 142, "\(name)")
            #expect(try await project.admin.run(name, ["projectId": 1]).code == 142, "\(name)")
        }
        #expect(try await project.admin.run("crashTrend", ["issueId": "none"]).code == 101)
        #expect(try await project.admin.run("crashIssues", ["status": "open"]).code == 142)
        #expect(try await project.admin.run("createCrashProject", ["name": ""]).code == 142)
        #expect(try await project.admin.run("disableCrashKey", [:]).code == 142)
    }

    /// Each session is reported twice. The report of the crashed session comes with its crash.
    @Test func sessionsWithAndWithoutACrashAreCountedByVersionAndDay() async throws {
        let project = try await CrashProject.create(try await Suite.shared)
        try await untilDayIsNotEnding()
        let yesterday = Timestamp.now.advanced(by: .seconds(-86_400))
        for (session, device) in [("s1", "d1"), ("s2", "d2"), ("s3", "d1")] {
            let begin = session == "s3" ? Timestamp.now : yesterday
            for status in ["ok", session == "s2" ? "crashed" : "exited"] {
                try await project.tell(
                    session: session, of: device, release: "shop@1.0.0", status: status, started: begin)
            }
        }
        try await project.tell(session: "s4", of: "d1", release: "shop@1.1.0")
        for _ in 0..<2 { try await project.report("OutOfBag", release: "shop@1.0.0") }
        let id: JSON = .string(project.id)
        let answer = try await project.admin.run("crashFreeRate", ["projectId": id]).result
        let points = answer["points"]?.arrayValue?.suffix(2) ?? []
        #expect(points.map { $0["sessions"] } == [2, 2], "\(answer.serializedText)")
        #expect(points.map { $0["crashedSessions"] } == [1, 0])
        #expect(points.map { $0["devices"] } == [2, 2], "A device counts for each version.")
        #expect(points.map { $0["crashedDevices"] } == [1, 0])
        let old = answer["releases"]?.arrayValue?.first
        #expect(old?["release"] == "shop@1.0.0")
        #expect(old?["sessions"] == 3)
        #expect(old?["crashedSessions"] == 1)
        let all = try await project.admin.run("crashTrend", ["projectId": id]).result["points"]?.arrayValue
        #expect(all?.last?["crashes"] == 2)
        let issue = try await project.issues().first?["issueId"] ?? .null
        let one = try await project.admin.run("crashTrend", ["issueId": issue]).result["points"]?.arrayValue
        #expect(one?.last?["reports"] == 2)
        #expect(one?.dropLast().allSatisfy { $0["reports"] == 0 } == true)
    }

    /// Acknowledged reports survive the killing of the process. Each exists once, even though SDKs repeat
    /// unacknowledged reports.
    @Test(.timeLimit(.minutes(10)))
    func reportsThatWereAnsweredSurviveAKill() async throws {
        try await Suite.with(settings: ["SATCHEL_CRASH_REPORTS_PER_MINUTE": "100000"]) { suite in
            let project = try await CrashProject.create(suite)
            let answered = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        var count = 0
                        for _ in 0..<40 {
                            let body = CrashProject.envelope("Killed", release: "1.0", eventId: CrashProject.newId())
                            var isTaken = false
                            for _ in 0..<50 where !isTaken {
                                isTaken = try await project.send(body, key: project.key).status == 200
                            }
                            if isTaken { count += 1 }
                        }
                        return count
                    }
                }
                try await suite.kill("crash-1")
                return try await group.reduce(0, +)
            }
            #expect(answered > 0)
            try await suite.untilHealthy()
            #expect(try await project.issues().first?["count"] == .int(Int64(answered)))
        }
    }
}
