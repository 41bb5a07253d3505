import Foundation
import ParseProtocol
import TestSupport
import Testing

@testable import MoveIn

/// `satchel-move-in` and a running suite: an export of hosted Parse moves in, whenever the program is killed meanwhile.
@Suite(.serialized) struct MoveInScenarioTests {
    private static let rows = 20_000
    private static let password = "Secret-41-0"
    private static let hash = "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK"
    private static let time = "2019-03-01T10:00:00.000Z"

    /// The files of an export and the program's calls.
    private struct Move {
        let suite: Suite
        let folder: String

        init(_ suite: Suite, rows: Int) throws {
            self.suite = suite
            folder = "\(suite.dataDirectory)/export"
            let (time, hash) = (JSON.string(MoveInScenarioTests.time), JSON.string(MoveInScenarioTests.hash))
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let items = (0..<rows).map { number -> JSON in
                [
                    "objectId": .string("item\(number)"), "createdAt": time, "updatedAt": time,
                    "rank": .int(Int64(number)), "owner": .pointer("_User", "user1"),
                    "text": .string(String(repeating: "text ", count: 40)), "ACL": ["*": ["read": true]],
                ]
            }
            try write("MovedItem", items)
            try write(
                "_User",
                [
                    [
                        "objectId": "user1", "createdAt": time, "updatedAt": time,
                        "username": "moved-ann", "bcryptPassword": hash,
                    ]
                ])
            try write(
                "_Role",
                [
                    [
                        "objectId": "role1", "createdAt": time, "updatedAt": time, "name": "friends",
                        "ACL": ["*": ["read": true]],
                    ]
                ])
            try write("_Join:users:_Role", [["owningId": "role1", "relatedId": "user1"]])
        }

        func write(_ className: String, _ rows: [JSON]) throws {
            let file = URL(fileURLWithPath: "\(folder)/\(className).json")
            try Data(JSON.object(["results": .array(rows)]).serialized).write(to: file)
        }

        /// Runs the program to its end.
        /// - Throws: `Command.Failed` when its status is not 0.
        @discardableResult
        func run(_ options: String...) async throws -> String {
            try await Command.run([Self.program] + options, environment: environment)
        }

        /// Kills the program after a time, unless it ended before.
        func runAndKill(after seconds: Double) async {
            let limit = String(format: "%.3f", max(0.001, seconds))
            _ = try? await Command.run(
                ["timeout", "-s", "KILL", limit, Self.program, folder], environment: environment)
        }

        /// All staged rows of a class: id, time and checksum.
        func staged(_ className: String) async throws -> String {
            var text = "", after = ""
            while true {
                let master = ParseClient.master(suite)
                let answer = try await master.get("/moves/rows/\(className)", ["after": .string(after), "limit": 5000])
                guard answer.status == 200 else { throw Unexpected("GET /moves/rows", answer) }
                let page = answer.text
                guard let last = page.split(separator: "\n").last?.split(separator: "\t").first else { return text }
                text += page
                after = String(last)
            }
        }

        private static let program = "\(checkoutDirectory)/.build/release/satchel-move-in"
        private var environment: [String: String] {
            ["SATCHEL_MOVE_URL": suite.url, "SATCHEL_MASTER_KEY": Suite.masterKey, "SATCHEL_APP_ID": "satchel"]
        }
    }

    @Test(.timeLimit(.minutes(10))) func aKilledMoveEndsWithTheSameRows() async throws {
        try await Suite.with { suite in
            let move = try Move(suite, rows: Self.rows)
            let master = ParseClient.master(suite)
            _ = try await move.run(move.folder, "--dry-run")

            let start = ContinuousClock.now
            try await move.run(move.folder)
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            let whole = try await move.staged("MovedItem")
            #expect(whole.split(separator: "\n").count == Self.rows)
            try await move.run("--undo")
            #expect(try await move.staged("MovedItem").isEmpty)

            for _ in 0..<10 { await move.runAndKill(after: .random(in: 0...seconds)) }
            let report = try await move.run(move.folder)
            #expect(try await move.staged("MovedItem") == whole)
            #expect(report.contains("MovedItem: \(Self.rows) rows"), "\(report)")
            let again = try await move.run(move.folder)
            #expect(again.contains("MovedItem: \(Self.rows) rows: 0 moved"), "\(again)")

            // Clients see nothing before the switch, and a rehearsal changes nothing.
            try await move.run("--rehearse")
            #expect(try await master.find("MovedItem").results.isEmpty)
            #expect(try await Self.signIn(suite).status != 200)

            try await move.run(move.folder, "--switch")
            let count = try await master.find("MovedItem", [:], ["limit": 0, "count": 1])
            #expect(count["count"] == .int(Int64(Self.rows)))
            let item = try await master.get("/classes/MovedItem/item7")
            #expect(item["updatedAt"] == .string(Self.time) && item["rank"] == 7)
            #expect(try await Self.signIn(suite).objectId == "user1")
            let roles = try await master.find("_Role", ["users": .pointer("_User", "user1")])
            #expect(roles.results.compactMap { $0["name"]?.stringValue } == ["friends"])
            await #expect(throws: Command.Failed.self) { try await move.run("--undo") }
        }
    }

    @Test(.timeLimit(.minutes(5))) func aRunGoesOnWhenAServiceIsKilled() async throws {
        try await Suite.with { suite in
            let move = try Move(suite, rows: Self.rows)
            async let report = move.run(move.folder)
            try await suite.kill("catalog-1")
            let text = try await report
            #expect(text.contains("MovedItem: \(Self.rows) rows: \(Self.rows) moved"), "\(text)")
            #expect(try await move.staged("MovedItem").split(separator: "\n").count == Self.rows)
        }
    }

    @Test(.timeLimit(.minutes(5))) func rowsThatTheSourceLostAreTakenBack() async throws {
        try await Suite.with { suite in
            let move = try Move(suite, rows: 300)
            try await move.run(move.folder)
            let changed: [JSON] = (5..<305).map { number in
                ["objectId": .string("item\(number)"), "rank": .int(number == 9 ? -1 : Int64(number))]
            }
            try move.write("MovedItem", changed)
            let report = try await move.run(move.folder)
            #expect(report.contains("300 moved, 0 unchanged, 5 removed"), "\(report)")
            #expect(try await move.staged("MovedItem").split(separator: "\n").count == 300)

            // Under a new name, the class is staged again.
            let map = "\(suite.dataDirectory)/map.json"
            try Data(#"{"classes": {"MovedItem": "OtherItem"}}"#.utf8).write(to: URL(fileURLWithPath: map))
            try await move.run(move.folder, "--map", map)
            #expect(try await move.staged("MovedItem").isEmpty)
            #expect(try await move.staged("OtherItem").split(separator: "\n").count == 300)
        }
    }

    private static func signIn(_ suite: Suite) async throws -> ParseClient.Answer {
        try await ParseClient(suite).call(
            .POST, "/login", ["username": "moved-ann", "password": .string(Self.password)])
    }
}
