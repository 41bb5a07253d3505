import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport

/// A complete suite over HTTP: any methods, paths, headers and bodies get an answer that conforms to the protocol and
/// reveals no internals.
///
/// An input is a request as text: a line with method and path, header lines, an empty line, the body. `{master}` and
/// `{session}` stand for the key and a shopper's token, so that the corpus works with any suite.
struct HTTPTarget: FuzzTarget {
    let name = "http"
    let testInputs = 400
    let timeLimit: Duration = .seconds(15)
    private let start = ContinuousClock.now
    var spent: Duration { ContinuousClock.now - start }
    /// For all processes together.
    let growthBytesMax = 192 << 20
    let measuresGrowth = false

    private let suite: Suite
    private let session: String
    private let inputs: HTTPInputs
    /// Process ids by service.
    private let processes: [String: String]

    init() async throws {
        suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let made = try await master.call(
            .POST, "/users", ["username": .string("fuzz-\(Names.random(8))"), "password": "fuzz-word-1"])
        session = made["sessionToken"]?.stringValue ?? ""
        inputs = HTTPInputs(openAPI: try await master.call(.GET, "/openapi.json").json)
        var random = Seeded(2)
        for _ in 0..<10 {
            var object: [String: JSON] = [:]
            for kind in ValueKind.allCases { object[kind.rawValue] = kind.value(&random) }
            _ = try await master.create("Thing", .object(object))
        }
        let services = ["gateway", "catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash", "web"]
        let suite = suite
        processes = Dictionary(
            uniqueKeysWithValues: services.compactMap { name in
                suite.processId(of: "\(name)-1").map { (name, String($0)) }
            })
    }

    var memory: Int { processes.values.reduce(0) { $0 + Memory.ofProcess($1) } }

    var dictionary: [String] { HTTPInputs.dictionary }

    func generate(_ random: inout Seeded) -> [UInt8] { inputs.request(&random) }

    func run(_ input: [UInt8]) async throws -> String {
        let text = String(decoding: input, as: UTF8.self)
            .replacing("{master}", with: Suite.masterKey).replacing("{session}", with: session)
        let parts = text.split(separator: "\n\n", maxSplits: 1, omittingEmptySubsequences: false)
        let lines = parts[0].split(separator: "\n", omittingEmptySubsequences: false)
        let words = lines[0].split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[1].hasPrefix("/"), Self.isMethod(words[0]) else { return "no request" }
        let headers = lines.dropFirst().compactMap { line -> (String, String)? in
            let parts = line.split(separator: ":", maxSplits: 1)
            // The client library frames the body, and refuses some requests.
            guard parts.count == 2, Self.isMethod(parts[0]),
                !["content-length", "transfer-encoding", "expect", "host", "connection"].contains(
                    parts[0].lowercased()),
                parts[1].utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { return nil }
            return (String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces))
        }
        let path = words[1].addingPercentEncoding(withAllowedCharacters: Self.pathCharacters) ?? "/"
        let answer: ParseClient.Answer
        do {
            answer = try await ParseClient(suite).send(
                HTTPMethod(rawValue: String(words[0])), path, headers: headers,
                body: parts.count > 1 ? Array(parts[1].utf8) : nil)
        } catch {
            let health = try? await ParseClient(suite).call(.GET, "/health")
            try require(health?.status == 200, "No answer: \(error), and /health says \(health?.status ?? 0).")
            try checkProcesses()
            return "not sent: \(error)"
        }
        if answer.status == 503 || answer.code == 124 { try checkProcesses() }
        return try Self.check(answer, input, isHead: words[0] == "HEAD")
    }

    /// Checks that no process was restarted.
    private func checkProcesses() throws {
        let ended = processes.filter { !FileManager.default.fileExists(atPath: "/proc/\($0.value)") }.keys.sorted()
        try require(ended.isEmpty, "\(ended.joined(separator: ", ")) ended.")
    }

    private static func isMethod(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) || $0 == UInt8(ascii: "-")
            }
    }

    /// The characters allowed in a request line; others are percent-encoded.
    private static let pathCharacters = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/%?&=+,;:@!$'()*")

    private static func check(_ answer: ParseClient.Answer, _ input: [UInt8], isHead: Bool) throws -> String {
        let type = answer.headers.first(name: "Content-Type") ?? ""
        let isJSON = type.hasPrefix("application/json")
        guard answer.status >= 400 else {
            try require((200..<400).contains(answer.status), "The status \(answer.status)")
            if isJSON, !isHead, !answer.body.isEmpty { _ = try JSON(parsing: answer.body) }
            return
                """
                \(answer.status) \(type) \
                \(answer.json.objectValue?.keys.sorted().joined(separator: ",").prefix(60) ?? "")
                """
        }
        try require(answer.status != 500, "500: \(answer.text)")
        if isHead || !isJSON { return "\(answer.status) \(type)" }
        guard let error = answer["error"]?.stringValue ?? answer["detail"]?.stringValue else {
            throw Violation("\(answer.status) without an error: \(answer.text.prefix(200))")
        }
        if let code = answer.code {
            try require(PublicError.codes.contains(code), "The code \(code): \(error)")
        } else {
            try require(
                [400, 401, 403, 404, 413, 415, 429].contains(answer.status), "\(answer.status) without a code: \(error)"
            )
        }
        let shown = String(decoding: input, as: UTF8.self)
        try PublicError.check(text: answer.text, input: Array((shown + (shown.removingPercentEncoding ?? "")).utf8))
        return "\(answer.status) \(answer.code ?? 0) \(error.prefix(20))"
    }
}
