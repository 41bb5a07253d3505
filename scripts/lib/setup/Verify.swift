import Books
import Foundation
import ParseProtocol

/// Checks the books of the running shop or of a backup, or writes analytics' sales anew.
struct Verify {
    private let gateway: GatewayOptions
    /// The backup's folder; nil for the running shop.
    private let backup: String?
    private let isJSON: Bool
    private let rebuildsSales: Bool

    private static let pollPause = Duration.milliseconds(500)
    /// After this time without news of its check, another one is started: the gateway is gone.
    private static let patience = Duration.seconds(30)
    private static let startsMax = 5

    init(_ words: some Sequence<String>) throws(SetupError) {
        let arguments = try Arguments(words, options: ["url", "backup", "rebuild"], flags: ["json"])
        gateway = GatewayOptions(arguments)
        backup = arguments["backup"]
        isJSON = arguments.has("json")
        rebuildsSales = arguments["rebuild"] != nil
        guard !rebuildsSales || arguments["rebuild"] == "sales" && backup == nil else {
            throw .invalid("--rebuild needs the word sales and a running shop.")
        }
    }

    /// - Returns: the exit status: 1 when something is wrong, 2 when a part could not be checked.
    func run() async throws -> Int32 {
        if rebuildsSales {
            writeLine("Analytics gets the sales and refunds anew. If this is interrupted, run it again.")
            let orders = try await rebuildSales()
            writeLine("Analytics has the sales and refunds of \(orders) orders anew.")
            return 0
        }
        let report = try await report()
        writeLine(isJSON ? report.serializedText : BookReport.table(report))
        switch report["state"]?.stringValue {
        case "clean": return 0
        case "wrong": return 1
        default: return 2
        }
    }

    /// - Returns: the number of orders.
    private func rebuildSales() async throws -> Int {
        try await Gateway.connected(to: gateway.endpoint()) { gateway in
            var (orders, after) = (0, "")
            while true {
                let asked: JSON = after.isEmpty ? [:] : ["after": .string(after)]
                let answer = try await gateway.send(.post, "/functions/soldOrders", body: asked)
                guard let page = answer["result"], let sales = page["sales"]?.arrayValue else {
                    throw SetupError.unexpectedAnswer(request: "soldOrders")
                }
                let next = page["next"]?.stringValue
                var written: JSON = ["after": .string(after), "sales": .array(sales)]
                written["at"] = page["at"]
                written["until"] = next.map(JSON.string)
                _ = try await gateway.send(.post, "/functions/rebuildSales", body: written)
                orders += sales.count
                guard let next else { return orders }
                after = next
            }
        }
    }

    private func report() async throws -> JSON {
        if let backup {
            let books = try BackupBooks(folder: backup)
            return await BookAudit(books, now: { books.now }, pause: nil).run().json
        }
        return try await Gateway.connected(to: gateway.endpoint()) { gateway in
            for _ in 0..<Self.startsMax {
                if let report = try await Self.report(of: gateway) { return report }
            }
            throw SetupError.unexpectedAnswer(request: "GET /operations/books")
        }
    }

    /// Starts a check and waits for its report. Behind a balancer each request may reach another gateway, which has
    /// another report: only `check` says whose it is. Satchel's balancer follows `gateway`.
    /// - Returns: nil when the gateway of the check is gone.
    private static func report(of gateway: Gateway) async throws -> JSON? {
        let started = try await gateway.send(.post, "/operations/books", body: [:])
        guard let check = started["check"]?.stringValue, let name = started["gateway"] else {
            throw SetupError.unexpectedAnswer(request: "POST /operations/books")
        }
        var heard = ContinuousClock.now
        while ContinuousClock.now - heard < patience {
            let answer = try await gateway.send(.get, "/operations/books", query: ["gateway": name])
            if answer["check"]?.stringValue == check {
                guard answer["isRunning"]?.boolValue == true else { return answer["report"] }
                heard = .now
            }
            try await Task.sleep(for: pollPause)
        }
        return nil
    }
}
