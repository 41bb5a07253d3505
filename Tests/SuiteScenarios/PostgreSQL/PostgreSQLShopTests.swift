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

    /// Reads that share a round trip have the objects of their own requests, with the rights of their own callers.
    @Test(.timeLimit(.minutes(10))) func readsAtOneTimeHaveTheirOwnAnswers() async throws {
        let settings = try await Self.settings(.shared).merging(["SATCHEL_READ_CACHE": "off"]) { $1 }
        try await Suite.with(settings: settings) { suite in
            let (master, guest) = (ParseClient.master(suite), ParseClient(suite))
            var made: [String] = []
            for n in 0..<20 {
                let rights: JSON = n % 4 == 0 ? [:] : ["*": ["read": true]]
                made.append(try await master.create("Note", ["n": .int(Int64(n)), "ACL": rights]).objectId)
            }
            let ids = made
            let wrong = try await withThrowingTaskGroup(of: [String].self) { group in
                for reader in 0..<20 {
                    group.addTask {
                        var wrong: [String] = []
                        for turn in reader..<(reader + 42) {
                            let (n, isMaster) = (turn % 21, turn % 2 == 0)
                            let id = n < ids.count ? ids[n] : "missing"
                            let answer = try await (isMaster ? master : guest).get("/classes/Note/\(id)")
                            let isFound = n < ids.count && (isMaster || n % 4 != 0)
                            let isRight = isFound ? answer["n"]?.intValue == Int64(n) : answer.code == 101
                            if !isRight { wrong.append("\(n): \(answer.text)") }
                        }
                        return wrong
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(wrong == [])
        }
    }

    /// Holds the table that has an object for ten seconds.
    private static func lock(objectId: String) -> String {
        """
        DO $$ DECLARE name text; isHere bool; BEGIN
        FOR name IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE tablename ~ '^o[0-9]+$' LOOP
            EXECUTE format('SELECT EXISTS(SELECT 1 FROM %s WHERE objectId = %L)', name, '\(objectId)') INTO isHere;
            IF isHere THEN
                EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', name);
                PERFORM pg_sleep(10);
            END IF;
        END LOOP; END $$
        """
    }

    /// While an operator's lock holds up the reads of one class, the reads of others are answered.
    @Test(.timeLimit(.minutes(10))) func aLockedClassDelaysNoOther() async throws {
        let settings = try await Self.settings(.shared).merging(["SATCHEL_READ_CACHE": "off"]) { $1 }
        let path = try #require(settings["SATCHEL_DATABASE"]?.split(separator: "?").first)
        let database = String(try #require(path.split(separator: "/").last))
        try await Suite.with(settings: settings) { suite in
            let (master, guest) = (ParseClient.master(suite), ParseClient(suite))
            let locked = try await master.create("Held", ["n": 1]).objectId
            let free = try await master.create("Note", ["n": 2]).objectId
            let wrong = try await withThrowingTaskGroup(of: [String].self) { group in
                group.addTask {
                    _ = try await PostgreSQLServer.shared.run(Self.lock(objectId: locked), database: database)
                    return []
                }
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<5 { _ = try? await guest.get("/classes/Held/\(locked)") }
                        return []
                    }
                    group.addTask {
                        var wrong: [String] = []
                        for _ in 0..<50 {
                            let answer = try await guest.get("/classes/Note/\(free)")
                            if answer["n"]?.intValue != 2 { wrong.append(answer.text) }
                        }
                        return wrong
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(wrong == [])
            #expect(try await guest.get("/classes/Held/\(locked)")["n"]?.intValue == 1)
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

    /// The server commits a refund, and the answer to the commit is lost. The writer finds the refund and continues it.
    @Test(.timeLimit(.minutes(5))) func aRefundWhoseCommitHadNoAnswerIsFinished() async throws {
        try await Suite.with(settings: try await Self.settings(.shared)) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Unheard \(Names.random(4))"])
            let customer = try await Customer.signUp(suite)
            _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            let receipt = try await customer.client.run(
                "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
            try #require(receipt.status == 200, "\(receipt.text)")
            let orders = try await ParseClient.master(suite).find("Order", ["orderStatus": 1]).results
            let order = try #require(orders.first).objectId
            try await suite.tamper(
                "bag",
                """
                INSERT INTO refunds(id, orderId, checkoutId, purpose, amount, reason, restock, state, createdAt,
                changedAt) SELECT 'rf_unheard', orderId, id, 'refund', 100, '', 0, 'pending', createdAt, createdAt
                FROM checkouts WHERE state = 'made'
                """)
            try await eventually("the refund is finished") {
                try await ParseClient.master(suite).get("/classes/Order/\(order)")["refundedTotal"] == 100
            }
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
