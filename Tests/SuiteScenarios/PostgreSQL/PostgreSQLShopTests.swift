import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A shop that stores everything in PostgreSQL: the same flows, and the effects on customers when services or the
/// server end.
@Suite(.serialized) struct PostgreSQLShopTests {
    private static func settings(_ server: PostgreSQLServer) async throws -> [String: String] {
        settings(database: try await server.newDatabase())
    }

    /// - Parameter database: the connection string.
    static func settings(database: String) -> [String: String] {
        // Each customer orders more often than the mail limit for unverified addresses allows.
        [
            "SATCHEL_DATABASE": database, "SATCHEL_QUOTAS": "carts=off;classes=off;fields=off",
            "SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0",
        ]
    }

    /// The main flow, as on SQLite, with readers that are not the writer. No service creates a file.
    @Test(.timeLimit(.minutes(10))) func twoCustomersBuyWhatIsKeptInPostgreSQL() async throws {
        let settings = try await Self.settings(.shared)
        try await Suite.with(scale: "catalog=2,users=2", settings: settings) { suite in
            try await suite.untilHealthy(replicas: ["catalog": 2, "users": 2])
            try await ShopperTests.twoCustomers(in: suite)
            let files = try FileManager.default.contentsOfDirectory(atPath: suite.dataDirectory)
            #expect(files.filter { $0.contains(".sqlite") } == [])
            // A backup that would be incomplete is refused.
            await #expect(throws: Command.Failed.self) {
                _ = try await suite.script("backup", suite.dataDirectory + "/copy")
            }
            #expect(!FileManager.default.fileExists(atPath: suite.dataDirectory + "/copy"))
        }
    }

    /// Customers buy while writing replicas are killed: another replica takes over the lock, no order is lost or
    /// duplicated, and the books balance.
    @Test(.timeLimit(.minutes(10))) func noOrderIsLostWhenWritersAreKilled() async throws {
        let settings = try await Self.settings(.shared)
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

    /// The server is killed and comes back. Meanwhile services report that they do not work; then everything continues
    /// automatically, and acknowledged data exists.
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
