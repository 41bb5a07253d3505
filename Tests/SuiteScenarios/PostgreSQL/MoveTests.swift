import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A service's data moves to another engine while customers buy.
@Suite(.serialized, .enabled(if: Suite.keepsFiles, "What is moved is a file at first.")) struct MoveTests {
    /// Requests wait while a service is down. Everything acknowledged before, during and after the move exists.
    @Test(.timeLimit(.minutes(10)), arguments: ["bag", "catalog"])
    func noOrderIsLostWhenAServiceIsMovedThereAndBack(service: String) async throws {
        let database = try await PostgreSQLServer.shared.newDatabase()
        let settings = [
            "SATCHEL_QUOTAS": "carts=off;classes=off;fields=off", "SATCHEL_MAILS_PER_RECIPIENT": "0",
            "SATCHEL_MAILS_PER_USER": "0",
        ]
        try await Suite.with(scale: "\(service)=2", settings: settings) { suite in
            try await suite.untilHealthy(replicas: [service: 2])
            let names = (0..<3).map { "Moved \($0) \(Names.random(4))" }
            let shelf = try await Shelf.fill(suite, names: names, stock: 1_000_000)
            let crowd = try await Crowd(suite, shelf: shelf, count: 3)
            // On a busy machine a service is down for longer than the gateway holds requests.
            crowd.gatewayMayFail()
            try await crowd.buyWhile {
                for target in [database, "sqlite"] {
                    try await goOn(crowd)
                    let said = try await suite.script("move", service, "--to", target)
                    let away = try #require(said.firstMatch(of: /it was away for ([0-9]+) ms/), "\(said)")
                    let milliseconds = try #require(Int(away.1))
                    #expect((1..<20_000).contains(milliseconds), "\(said)")
                    try await goOn(crowd)
                    let files = try FileManager.default.contentsOfDirectory(atPath: suite.dataDirectory)
                    #expect(files.contains("\(service).sqlite") == (target == "sqlite"), "\(files)")
                    #expect(!files.contains("\(service).moving"))
                    #expect(files.contains { $0.hasPrefix("moved-") })
                }
            }
            try await suite.untilHealthy(replicas: [service: 2])
            try await crowd.verify()
        }
    }

    private func goOn(_ crowd: Crowd) async throws {
        let answered = crowd.checkouts
        try await eventually("customers go on", within: .seconds(60)) { crowd.checkouts >= answered + 3 }
    }

    /// The location of the data survives a restart. A move is refused without harm if the server does not exist, a
    /// password would be visible to others, or the data is already there.
    @Test(.timeLimit(.minutes(10))) func aMovedServiceStaysMovedAndAFailedMoveHarmsNothing() async throws {
        let database = try await PostgreSQLServer.shared.newDatabase()
        try await Suite.with(settings: Suite.inFiles) { suite in
            let master = ParseClient.master(suite)
            let note = try await master.create("Note", ["text": "before"])
            for target in ["postgresql://nobody@/none?host=/nowhere", "postgresql://a:secret@/none", "sqlite"] {
                let refusal = await #expect(throws: Command.Failed.self) {
                    _ = try await suite.script("move", "catalog", "--to", target)
                }
                // Omits the command line, which precedes the message.
                let said = try #require(refusal?.description.components(separatedBy: " ended with ").last)
                #expect(!said.contains("secret"))
                try await suite.untilHealthy()
                #expect(try await master.get("/classes/Note/\(note.objectId)")["text"] == "before")
            }
            _ = try await suite.script("move", "catalog", "--to", database)
            // A backup that would be incomplete is refused.
            await #expect(throws: Command.Failed.self) {
                _ = try await suite.script("backup", suite.dataDirectory + "/copy")
            }
            try await suite.down()
            _ = try await suite.script("up", "--no-build", "--no-demo")
            #expect(try await master.get("/classes/Note/\(note.objectId)")["text"] == "before")
            let tables = try await Command.run(
                ["psql", database, "-XAtqc", "SELECT count(*) FROM satchel_catalog.classes"])
            #expect((Int(tables.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0) > 3)
        }
    }
}
