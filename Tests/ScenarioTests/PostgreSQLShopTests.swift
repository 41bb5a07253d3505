import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A shop whose services keep everything in PostgreSQL: the same flows, and what becomes of customers when services or
/// the server end.
@Suite(.serialized) struct PostgreSQLShopTests {
    private static func settings(_ server: PostgreSQLServer, kind: String = "full") async throws -> [String: String] {
        settings(database: try await server.newDatabase()).merging(["SATCHEL_POSTGRESQL": kind]) { $1 }
    }

    /// - Parameter database: the connection string.
    static func settings(database: String) -> [String: String] {
        // Each customer buys more often than an address that is not verified is written to.
        [
            "SATCHEL_DATABASE": database, "SATCHEL_QUOTAS": "carts=off;classes=off;fields=off",
            "SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0",
        ]
    }

    /// The main job, as on SQLite, with readers that are not the writer; no service makes a file.
    @Test(.timeLimit(.minutes(10)), arguments: ["full", "plain"])
    func twoCustomersBuyWhatIsKeptInPostgreSQL(kind: String) async throws {
        let settings = try await Self.settings(.shared, kind: kind)
        try await Suite.with(scale: "catalog=2,users=2", settings: settings) { suite in
            try await suite.untilHealthy(replicas: ["catalog": 2, "users": 2])
            try await ShopperTests.twoCustomers(in: suite)
            let files = try FileManager.default.contentsOfDirectory(atPath: suite.dataDirectory)
            #expect(files.filter { $0.contains(".sqlite") } == [])
            // What would be no copy of the shop is not made.
            await #expect(throws: Command.Failed.self) {
                _ = try await suite.script("backup", suite.dataDirectory + "/copy")
            }
            #expect(!FileManager.default.fileExists(atPath: suite.dataDirectory + "/copy"))
        }
    }

    /// Customers buy while replicas that write are killed: another takes the lock, or the lease, over, no order is
    /// lost or made twice, and the books balance.
    @Test(.timeLimit(.minutes(10)), arguments: ["full", "plain"])
    func noOrderIsLostWhenWritersAreKilled(kind: String) async throws {
        let settings = try await Self.settings(.shared, kind: kind)
        try await Suite.with(scale: "catalog=2,bag=2", settings: settings) { suite in
            try await suite.untilHealthy(replicas: ["catalog": 2, "bag": 2])
            let names = (0..<4).map { "Item \($0) \(Names.random(4))" }
            let shelf = try await Shelf.fill(suite, names: names, stock: 1_000_000)
            let crowd = try await Crowd(suite, shelf: shelf, count: 4)
            crowd.gatewayMayFail()
            try await crowd.buyWhile {
                for replica in ["bag-1", "catalog-1", "payments-1", "bag-2", "users-1"] {
                    try await suite.kill(replica)
                    let answered = crowd.checkouts
                    try await eventually("customers go on after \(replica)", within: .seconds(60)) {
                        crowd.checkouts >= answered + 3
                    }
                }
            }
            try await suite.untilHealthy(replicas: ["catalog": 2, "bag": 2])
            try await crowd.verify()
        }
    }

    /// The server is killed and comes back: meanwhile services say that they do not work, then all goes on by itself,
    /// and what was acknowledged is there.
    @Test(.timeLimit(.minutes(10))) func servicesGoOnWhenTheServerComesBack() async throws {
        try await PostgreSQLServer.with { server in
            try await Suite.with(settings: try await Self.settings(server)) { suite in
                let shelf = try await Shelf.fill(suite, names: ["Lasting \(Names.random(4))"], stock: 1_000_000)
                let crowd = try await Crowd(suite, shelf: shelf, count: 3)
                crowd.gatewayMayFail()
                try await crowd.buyWhile {
                    try await eventually("customers buy") { crowd.checkouts >= 3 }
                    try await server.kill()
                    try await eventually("a write is refused as something that may work later") {
                        let answer = try await ParseClient.master(suite).create("Note", ["text": "lost"])
                        return answer.status == 503
                    }
                    try await server.resume()
                    let answered = crowd.checkouts
                    try await eventually("customers go on", within: .seconds(60)) { crowd.checkouts >= answered + 3 }
                }
                try await suite.untilHealthy()
                try await crowd.verify()
            }
        }
    }
}
