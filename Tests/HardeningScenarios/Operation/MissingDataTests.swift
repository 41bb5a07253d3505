import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A service whose database or key is missing does not start with empty data next to the others until an operator
/// accepts the loss.
@Suite(.serialized) struct MissingDataTests {
    private static func buy(_ shelf: Shelf, as customer: Customer) async throws -> JSON {
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let paid = try await customer.client.run(
            "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        guard paid.status == 200 else { throw Unexpected("checkout", paid) }
        return paid.result
    }

    /// Kills a replica and changes files before the process manager restarts it.
    private static func whileDead(
        _ suite: Suite, _ replica: String, _ change: (_ data: String) throws -> Void
    ) async throws {
        let manager = try #require(suite.managerId)
        _ = try await Command.run(["kill", "-STOP", "\(manager)"])
        // A process that ended by itself only waits for its restart.
        if let process = suite.processId(of: replica) { _ = Glibc.kill(process, SIGKILL) }
        try await eventually("\(replica) has ended") { suite.processId(of: replica) == nil }
        try change(suite.dataDirectory)
        _ = try await Command.run(["kill", "-CONT", "\(manager)"])
    }

    private static func removeDatabase(_ service: String, _ data: String) throws {
        for name in [".sqlite", ".sqlite-wal", ".sqlite-shm", ".born"] {
            try? FileManager.default.removeItem(atPath: "\(data)/\(service)\(name)")
        }
    }

    private static func untilRefused(_ suite: Suite, _ words: String) async throws {
        try await eventually("the log names \(words)", within: .seconds(20)) {
            !suite.logTails(lines: 200) { $0.contains(words) }.isEmpty
        }
    }

    private static func sales(_ admin: ParseClient) async throws -> JSON {
        // Hours without events are not compared.
        .array(try await admin.run("analyticsSales").result.arrayValue?.compactMap { $0["totals"] } ?? [])
    }

    /// Analytics loses its database and certificate; its sales are rebuilt from the orders.
    @Test(.timeLimit(.minutes(10))) func aMissingDatabaseIsNoNewOneAndSalesComeBack() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Counted"], stock: 1000)
            let customer = try await Customer.signUp(suite)
            let admin = ParseClient.master(suite)
            var last = JSON.null
            for _ in 0..<3 { last = try await Self.buy(shelf, as: customer) }
            let refunded = try await admin.run("refundOrder", ["orderId": last["orderId"] ?? .null, "amount": 100])
            #expect(refunded.status == 200, "\(refunded.text)")
            try await eventually("analytics has three sales and a refund") {
                try await suite.rows("analytics", "SELECT sum(orders), sum(refunds) FROM salesHours") == [[3, 1]]
            }
            let before = try await Self.sales(admin)

            try await Self.whileDead(suite, "analytics-1") { try Self.removeDatabase("analytics", $0) }
            try await Self.untilRefused(suite, "scripts/accept-loss analytics")
            #expect(try await admin.get("/health")["services"]?["analytics"]?["writer"] != true)

            let accepted = try await suite.script("accept-loss", "analytics")
            #expect(accepted.contains("an empty database"), "\(accepted)")
            try await suite.untilHealthy()
            #expect(try await Self.sales(admin) != before)
            for _ in 0..<2 {
                let told = try await suite.script("verify", "--rebuild", "sales")
                #expect(told.contains("3 orders"), "\(told)")
                try await eventually("the sales are what they were") { try await Self.sales(admin) == before }
            }
        }
    }

    /// Sessions and URLs of private files become void only when the operator accepts it, also when a different key
    /// exists.
    @Test(.timeLimit(.minutes(10))) func aMissingKeyIsNoNewOne() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let customer = try await Customer.signUp(suite)
            let path = suite.dataDirectory + "/users.key"
            let key = try #require(FileManager.default.contents(atPath: path))
            let other = Data(String(repeating: "ab", count: 32).utf8)
            for replacement in [nil, other] {
                try await Self.whileDead(suite, "users-1") { _ in
                    try? FileManager.default.removeItem(atPath: path)
                    if let replacement { try replacement.write(to: URL(fileURLWithPath: path)) }
                }
                try await Self.untilRefused(
                    suite, replacement == nil ? "users.key is missing" : "users.key is not the key")
                #expect(FileManager.default.contents(atPath: path) == replacement, "No key was made.")
            }
            try key.write(to: URL(fileURLWithPath: path))
            try await suite.untilHealthy()
            #expect(try await customer.client.get("/users/me").status == 200, "The session is the same.")

            try await Self.whileDead(suite, "gateway-1") {
                try FileManager.default.removeItem(atPath: $0 + "/files.key")
            }
            try await Self.untilRefused(suite, "scripts/accept-loss files.key")
            _ = try await suite.script("accept-loss", "files.key")
            try await suite.untilHealthy()
        }
    }
}
