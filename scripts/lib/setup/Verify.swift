import Books
import Foundation
import ParseProtocol

/// Checks the books of the running shop, or of a backup.
struct Verify {
    private let gateway: GatewayOptions
    /// The backup's folder; nil for the running shop.
    private let backup: String?
    private let isJSON: Bool

    private static let pollPause = Duration.milliseconds(500)

    init(_ words: some Sequence<String>) throws(SetupError) {
        let arguments = try Arguments(words, options: ["url", "backup"], flags: ["json"])
        gateway = GatewayOptions(arguments)
        backup = arguments["backup"]
        isJSON = arguments.has("json")
    }

    /// - Returns: the exit status: 1 when something is wrong, 2 when a part could not be checked.
    func run() async throws -> Int32 {
        let report = try await report()
        writeLine(isJSON ? report.serializedText : BookReport.table(report))
        switch report["state"]?.stringValue {
        case "clean": return 0
        case "wrong": return 1
        default: return 2
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
