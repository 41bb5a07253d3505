import ParseProtocol
import TestSupport
import Testing

/// `/scriptlog`: the log of the processes, for the master key only, bounded and without secrets.
@Suite struct LogTests {
    @Test func linesHaveTheFieldsThatClientsRead() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let answer = try await master.get("/scriptlog", ["size": 50])
        let lines = try #require(answer.json.arrayValue)
        #expect(!lines.isEmpty)
        #expect(lines.count <= 50)
        for line in lines {
            #expect(line["timestamp"]?.stringValue.flatMap(Timestamp.init(iso:)) != nil)
            #expect(["info", "warn", "error"].contains(line.text("level")))
            #expect(!line.text("message").isEmpty)
        }
        // While startup waited for the services, the gateway logged each failed request with its method and path.
        let all = try await master.get("/scriptlog", ["size": 1000, "order": "asc"]).json.arrayValue ?? []
        #expect(all.contains { $0["process"] == "catalog-1" && $0["message"] == "This process is the writer." })
        let failed = all.first { $0["message"] == "A request failed." }
        if let failed {
            #expect(failed["method"] != nil)
            #expect(failed["url"] != nil)
        }
        #expect(try await master.get("/scriptlog").json.arrayValue?.count == 10)
    }

    @Test func levelTimesAndOrderChoose() async throws {
        let host = try await WebhookHost.shared
        let name = WebhookHost.name("f")
        try await host.function(name, ["status": 500])
        _ = try await host.master.run(name)
        func mine(_ options: [String: JSON]) async throws -> [JSON] {
            let answer = try await host.master.get("/scriptlog", options.merging(["size": 1000]) { $1 })
            return (answer.json.arrayValue ?? []).filter { $0.serializedText.contains(name) }
        }
        try await eventually("the warning is in the log") { try await mine(["level": "warn"]).count == 1 }
        for level in ["WARN", "Warning"] as [JSON] { #expect(try await mine(["level": level]).count == 1) }
        for level in ["INFO", "log", "DEBUG"] as [JSON] { #expect(try await mine(["level": level]).count >= 1) }
        let line = try #require(try await mine([:]).first)
        #expect(line["level"] == "warn")
        #expect(line["message"] == "A webhook failed.")
        #expect(line["metadata"]?["hook.problem"] == "The webhook answered with status 500.")
        #expect(try await mine(["level": "error"]).isEmpty)
        #expect(try await mine(["until": "2020-01-01T00:00:00.000Z"]).isEmpty)
        #expect(try await mine(["from": "2039-01-01T00:00:00.000Z"]).isEmpty)
        let ascending = try await host.master.get("/scriptlog", ["order": "asc", "size": 100]).json.arrayValue ?? []
        let times = ascending.map { $0.text("timestamp") }
        #expect(times == times.sorted())
        #expect(times.count > 1)
        let descending = try await host.master.get("/scriptlog", ["n": 100]).json.arrayValue ?? []
        let backwards = descending.map { $0.text("timestamp") }
        #expect(backwards == backwards.sorted(by: >))
    }

    /// The file is deleted in the middle of its download, which has begun with status 200.
    @Test func aResponseThatBreaksOffIsLoggedOnce() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        // More than the buffers of both sockets.
        let content = [UInt8](repeating: 7, count: 9 << 20)
        let name = try await master.upload(content, as: "a.bin", type: nil).json.text("name")
        let connection = try RawConnection(suite)
        connection.send(head: "GET /parse/files/satchel/\(name)?a=hidden HTTP/1.1\nHost: x")
        let start = try #require(connection.read(within: 5000))
        #expect(start.hasPrefix("HTTP/1.1 200"), "\(start.prefix(100))")
        #expect(try await master.call(.DELETE, "/files/\(name)").status == 200)
        #expect(connection.isClosed(within: 30))
        func lines() async throws -> [JSON] {
            let all = try await master.get("/scriptlog", ["size": 1000, "level": "warn"]).json.arrayValue ?? []
            return all.filter { $0.serializedText.contains(name) }
        }
        try await eventually("it is in the log") { try await !lines().isEmpty }
        let logged = try await lines()
        #expect(logged.count == 1)
        #expect(logged.first?["message"] == "A response broke off.")
        #expect(logged.first?.serializedText.contains("hidden") == false)
    }

    @Test(
        arguments: [
            ["level": "all"], ["level": 5], ["size": -1], ["size": 1_000_000], ["size": "x"], ["from": "yesterday"],
            ["until": [:]], ["order": "up"], ["path": "/etc/passwd"],
        ] as [[String: JSON]])
    func aQuestionThatMeansNothingIsRefused(_ options: [String: JSON]) async throws {
        let answer = try await ParseClient.master(try await Suite.shared).get("/scriptlog", options)
        #expect(answer.status == 400, "\(answer.text)")
        #expect(answer.code == 102, "\(answer.text)")
    }

    @Test func logsNeedTheMasterKeyAndHaveNoSecrets() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        for client in [ParseClient(suite), customer.client] {
            #expect(try await client.get("/scriptlog").status == 403)
        }
        #expect(try await Customer.admin(suite).get("/scriptlog").status == 200)
        let all = try await ParseClient.master(suite).get("/scriptlog", ["size": 1000, "level": "verbose"])
        #expect(all.status == 200)
        for secret in [Suite.masterKey, customer.password, customer.client.sessionToken ?? "-"] {
            #expect(!all.text.contains(secret))
        }
    }
}
