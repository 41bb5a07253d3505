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
            _ = try await gateway.send(.post, "/operations/books", body: [:])
            while true {
                let answer = try await gateway.send(.get, "/operations/books")
                guard answer["isRunning"]?.boolValue == true else { return answer["report"] ?? .null }
                try await Task.sleep(for: Self.pollPause)
            }
        }
    }
}
