import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The operations views (`Tests/Peers/pages/dashboard_operations.py`) and their routes.
@Suite(.serialized) struct DashboardOperationsTests {
    private static let desk = Desk()

    private static let paths: [JSON] = [
        "/operations", "/operations/logs?level=verbose", "/operations/jobs", "/operations/functions",
        "/operations/functions/checkout", "/operations/webhooks", "/operations/config", "/operations/settings",
        "/operations/backups", "/operations/books", "/operations/audit", "/operations/parked",
    ]

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func theRunningSuiteIsLookedAtAndWorkedOn(_ screen: Desk.Screen) async throws {
        let parameter = "welcome\(Names.random(6))"
        try await Self.desk.check(
            "operations", on: screen,
            [
                "hook": .string("nobody\(Names.random(6))"), "parameter": .string(parameter),
                "markup": "<img src=x onerror=alert(1)>", "secret": .string(Suite.masterKey),
            ])
        let master = try await ParseClient.master(Self.desk.suite).get("/config").json
        #expect(master.at("params", .member(parameter)) == ["markup": "<img src=x onerror=alert(1)>"])
        #expect(master.at("masterKeyOnly", .member(parameter)) == true)
        let told = try await ParseClient(Self.desk.suite).get("/config").json
        #expect(told.at("params", .member(parameter)) == nil)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func refusedWorkIsTriedAgainOrDropped(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let hosts = (0..<2).map { _ in "m\(Names.random(8).lowercased()).example" }
        for host in hosts {
            let made = try await ParseClient.master(suite).run(
                "sendShopMail", ["to": .string("ada@\(host)"), "subject": "Hi", "text": "Hello"])
            let id = try #require(made.result.at("mails", 0, "id")?.intValue, "\(made.text)")
            try await eventually("the mail is sent") {
                try await suite.rows("mail", "SELECT state FROM mails WHERE id = \(id)") == [["sent"]]
            }
            try await suite.tamper(
                "mail", "UPDATE mails SET state = 'failed', problem = '550 No such user' WHERE id = \(id)")
        }
        try await Self.desk.check("parked", on: screen, ["again": .string(hosts[0]), "gone": .string(hosts[1])])
        try await eventually("the retried mail is sent, the other one is only recorded") {
            try await suite.rows(
                "mail", "SELECT state FROM mails WHERE toAddress LIKE 'ada@m%.example' ORDER BY id DESC LIMIT 2")
                == [["failed"], ["sent"]]
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func operationsViewsAreAccessible(_ screen: Desk.Screen) async throws {
        try await Self.desk.checkAccess(to: Self.paths, on: screen)
    }

    // MARK: - The routes

    @Test(arguments: [
        "settings", "metrics", "history", "shadow", "log", "functions", "jobs", "config", "backups", "books", "parked",
    ])
    func onlyOperatorsAreTold(_ name: String) async throws {
        let suite = try await Self.desk.suite
        let customer = try await Customer.signUp(suite)
        for client in [ParseClient(suite), customer.client] {
            #expect(try await client.get("/operations/\(name)").code == 119)
        }
        for client in [ParseClient.master(suite), try await Customer.admin(suite)] {
            let answer = try await client.get("/operations/\(name)")
            #expect(answer.status == 200, "\(answer.text.prefix(300))")
            for secret in [Suite.masterKey, try suite.adminPassword()] { #expect(!answer.text.contains(secret)) }
        }
    }

    @Test func everyProcessTellsItsSettingsAndItsMemory() async throws {
        let answer = try await Customer.admin(Self.desk.suite).get("/operations/settings").json
        let processes = answer["processes"]?.arrayValue ?? []
        let services = Set(processes.map { $0.text("service") })
        #expect(services.isSuperset(of: ["gateway", "catalog", "users", "bag", "payments", "mail", "push"]))
        for process in processes {
            #expect(process["memoryBytes"]?.intValue ?? 0 > 1_000_000, "\(process.text("service"))")
            let names = process["settings"]?.arrayValue?.map { $0.text("name") } ?? []
            #expect(names.contains("SATCHEL_DATA"))
            #expect(names == names.sorted())
        }
        let own = processes.first { $0["service"] == "gateway" }?["settings"]?.arrayValue ?? []
        let key = own.first { $0["name"] == "SATCHEL_MASTER_KEY" }
        #expect(key?["isSecret"] == true)
        #expect(key?["isDefault"] == false)
    }

    @Test func answersAreCountedByTheirTime() async throws {
        let admin = try await Customer.admin(Self.desk.suite)
        func counted(_ place: JSON?) -> Int64 {
            (place?["buckets"]?.arrayValue ?? []).reduce(0) { $0 + ($1.intValue ?? 0) }
        }
        let before = try await admin.get("/operations/metrics").json
        for _ in 0..<5 { #expect(try await admin.find("Category").status == 200) }
        #expect(try await admin.get("/classes/Category/nobody").status == 404)
        let after = try await admin.get("/operations/metrics").json
        #expect(counted(after.at("gateway", "answers")) >= counted(before.at("gateway", "answers")) + 6)
        #expect(
            counted(after.at("services", "catalog", "answers")) > counted(before.at("services", "catalog", "answers")))
        #expect(
            (after.at("gateway", "answers", "refused")?.intValue ?? 0)
                > (before.at("gateway", "answers", "refused")?.intValue ?? 0))
        #expect(after["bounds"]?.arrayValue?.count == 78)
    }

    /// Follows the log lines of a failing webhook over several requests.
    @Test func aLogIsFollowedWithoutLossOrRepeats() async throws {
        let master = ParseClient.master(try await Self.desk.suite)
        let name = "follow\(Names.random(6))"
        let made = try await master.call(
            .POST, "/hooks/functions", ["functionName": .string(name), "url": "http://127.0.0.1:9/"])
        try #require(made.status == 200, "\(made.text)")
        var cursor = try await master.get("/operations/log", ["size": 1]).json.text("next")
        var told: [JSON] = []
        for count in 1...3 {
            _ = try await master.run(name)
            try await eventually("line \(count) is told") {
                let answer = try await master.get(
                    "/operations/log", ["after": .string(cursor), "text": .string(name), "level": "warn"])
                told += answer.json["entries"]?.arrayValue ?? []
                cursor = answer.json.text("next")
                return told.count >= count
            }
            #expect(told.count == count)
        }
        let refused = try await master.get("/operations/log", ["after": "x"])
        #expect(refused.code == 102)
        _ = try await master.call(.DELETE, "/hooks/functions/\(name)")
    }

    /// A secret in the log is not shown, and a search for its beginning does not find it.
    @Test func whatTheLogDoesNotShowIsNotFound() async throws {
        let suite = try await Self.desk.suite
        let token = "r:" + String(repeating: "0a", count: 16)
        let line = "\(Timestamp.now.iso.prefix(19))+0000 warning probe-1: [Probe] Somebody came with \(token)\n"
        try line.write(toFile: suite.dataDirectory + "/logs/probe-1.log", atomically: true, encoding: .utf8)
        let master = ParseClient.master(suite)
        let shown = try await master.get("/operations/log", ["service": "probe", "text": "somebody came"])
        #expect(shown.json["entries"]?.arrayValue?.count == 1, "\(shown.text)")
        #expect(!shown.text.contains(token))
        let guessed = try await master.get("/operations/log", ["service": "probe", "text": "r:0a0a"])
        #expect(guessed.json["entries"]?.arrayValue?.isEmpty == true, "\(guessed.text)")
    }

    @Test func backupsAreShownAsRecorded() async throws {
        let suite = try await Self.desk.suite
        let lines = [
            #"{"at":"2030-01-01T00:00:00.000000Z","folder":"/backups/1","bytes":5,"files":2,"verified":true}"#,
            "no line of ours",
            #"{"at":"2020-01-02T00:00:00.000000Z","folder":"/backups/2","bytes":5,"files":2,"verified":true}"#,
        ]
        let path = suite.dataDirectory + "/backups.log"
        try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
        let answer = try await Customer.admin(suite).get("/operations/backups").json
        let folders = answer["backups"]?.arrayValue?.map { $0.text("folder") }
        #expect(folders == ["/backups/2", "/backups/1"], "The newest note comes first.")
    }
}
