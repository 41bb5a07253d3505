import Foundation
import ParseProtocol
import TestSupport
import Testing

/// `scripts/restart` makes services run a new executable without disturbing clients.
@Suite(.serialized) struct RollingRestartTests {
    /// Customers browse and buy continuously while two services with one replica each are restarted: no request fails,
    /// no client has to retry, and every answered checkout exists once.
    @Test(.timeLimit(.minutes(10))) func customersDoNotNoticeARollingRestart() async throws {
        // Each customer orders more often than the mail limit for unverified addresses allows, and one address starts
        // more bags than its quota allows.
        let unbounded = [
            "SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0", "SATCHEL_QUOTAS": "carts=off",
        ]
        try await Suite.with(settings: unbounded) { suite in
            let names = (0..<6).map { "Item \($0) \(Names.random(4))" }
            let shelf = try await Shelf.fill(suite, names: names, stock: 1_000_000)
            let crowd = try await Crowd(suite, shelf: shelf, count: 6)
            let before = ["catalog-1", "bag-1", "users-1"].map(suite.processId(of:))
            try await crowd.buyWhile {
                _ = try await suite.script("restart", "catalog", "bag")
                let answered = crowd.checkouts
                try await eventually("customers go on") { crowd.checkouts >= answered + 5 }
            }
            let after = ["catalog-1", "bag-1", "users-1"].map(suite.processId(of:))
            #expect(after[0] != nil && after[0] != before[0], "catalog is another process.")
            #expect(after[1] != nil && after[1] != before[1], "bag is another process.")
            #expect(after[2] == before[2], "users was not restarted.")
            #expect(suite.processId(of: "catalog-2") == nil, "The replica that was there for the restart has gone.")
            #expect(crowd.repeated.isEmpty, "\(crowd.repeated.count) times: \(crowd.repeated.prefix(5))")
            try await crowd.verify()
        }
    }

    /// An executable that does not start, such as one of a wrong build, does not replace the running one.
    @Test(.timeLimit(.minutes(10))) func anExecutableThatDoesNotStartReplacesNothing() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let binaries = folder.path("bin")
        let build = "\(checkoutDirectory)/.build/release"
        try FileManager.default.createDirectory(atPath: binaries, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: build) {
            try FileManager.default.createSymbolicLink(
                atPath: "\(binaries)/\(name)", withDestinationPath: "\(build)/\(name)")
        }
        try await Suite.with(settings: ["SATCHEL_BIN": binaries]) { suite in
            let running = suite.processId(of: "catalog-1")
            try FileManager.default.removeItem(atPath: "\(binaries)/catalog")
            try FileManager.default.createSymbolicLink(
                atPath: "\(binaries)/catalog", withDestinationPath: "/bin/false")
            let refusal = await #expect(throws: Command.Failed.self) { try await suite.script("restart", "catalog") }
            #expect(refusal?.description.contains("does not join") == true, "\(refusal?.description ?? "")")
            #expect(running != nil && suite.processId(of: "catalog-1") == running)
            #expect(suite.processId(of: "catalog-2") == nil)
            let found = try await ParseClient(suite).find("Product")
            #expect(found.status == 200, "\(found.text)")
        }
    }
}
