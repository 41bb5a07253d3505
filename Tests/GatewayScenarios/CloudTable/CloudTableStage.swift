import Foundation
import NIOHTTP1
import ParseProtocol
import Synchronization
import TestSupport

/// A suite that runs the code of one part of the table, with two users, and a server that the code may call.
struct CloudTableStage: Sendable {
    /// The error that an answer differs from its row's expectation.
    struct Mismatch: Error, CustomStringConvertible {
        let description: String
    }

    let suite: Suite
    private let peer: Peer
    /// The values available to every row: the users' ids and sessions, and the server's URL.
    private let known: [String: String]

    // MARK: - Starting

    /// The stage of a part. The first row that needs it starts it; it stops when the process ends.
    static func of(_ part: CloudTable.Part) async throws -> CloudTableStage {
        let stage = stages.withLock { stages in
            if let known = stages[part.name] { return known }
            let new = Task { try await start(part) }
            stages[part.name] = new
            return new
        }
        return try await stage.value
    }

    private static let stages = Mutex<[String: Task<CloudTableStage, any Error>]>([:])

    private static func start(_ part: CloudTable.Part) async throws -> CloudTableStage {
        let peer = try await Peer.start("webhook.py")
        let settings = [
            "SATCHEL_FILE_UPLOAD": "public", "SATCHEL_QUOTAS": "classes=off;fields=off",
            "SATCHEL_STRIPE_URL": peer.url, "SATCHEL_MAILGUN_URL": peer.url, "SATCHEL_CLOUD_PROVIDERS": "own",
        ].merging(part.settings) { $1 }
        let suite = try await CloudSuite.start(files: part.files, settings: settings)
        var known = ["peer": peer.url]
        for name in ["ann", "ben"] {
            let account: JSON = ["username": .string(name), "password": "a-password-1"]
            let made = try await ParseClient(suite).call(.POST, "/users", account)
            guard made.status == 201 else { throw Unexpected("POST users", made) }
            known[name] = made.objectId
            known["\(name).token"] = made.json.text("sessionToken")
        }
        return CloudTableStage(suite: suite, peer: peer, known: known)
    }

    // MARK: - Playing

    /// Sends a row's requests and compares the answers.
    /// - Throws: `Mismatch` for the first difference.
    func play(_ row: CloudTable.Row) async throws {
        var memory = known
        for exchange in row.before {
            let answer = try await send(exchange, &memory)
            guard answer.map({ $0.status < 300 }) ?? true else {
                throw Mismatch(description: "before: \(Self.said(exchange, answer))")
            }
        }
        if let mismatch = try await mismatch(row.ask, &memory) { throw mismatch }
        for exchange in row.after {
            var last: Mismatch?
            do {
                try await eventually("the answer is right") {
                    last = try await mismatch(exchange, &memory)
                    return last == nil
                }
            } catch { throw last ?? error }
        }
        for text in row.logs {
            try await eventually("the log has \(text)") { !suite.logTails { $0.contains(text) }.isEmpty }
        }
    }

    private func mismatch(_ exchange: JSON, _ memory: inout [String: String]) async throws -> Mismatch? {
        guard let answer = try await send(exchange, &memory) else { return nil }
        let status = Self.status(exchange)
        guard answer.status == status else {
            return Mismatch(description: "the status should be \(status): \(Self.said(exchange, answer))")
        }
        guard let expected = exchange["answer"] else { return nil }
        let wanted = CloudTableAnswers.filled(expected, with: memory)
        return CloudTableAnswers.difference(wanted, Self.value(of: answer)).map {
            Mismatch(description: "\($0): \(Self.said(exchange, answer))")
        }
    }

    private static func status(_ exchange: JSON) -> Int {
        exchange["status"]?.intValue.map(Int.init) ?? CloudTableAnswers.status(of: exchange["answer"])
    }

    /// A body that is not JSON is returned as a string.
    private static func value(of answer: ParseClient.Answer) -> JSON {
        answer.json.isNull && answer.text != "null" ? .string(answer.text) : answer.json
    }

    private static func said(_ exchange: JSON, _ answer: ParseClient.Answer?) -> String {
        let what = "\(exchange.text("method")) \(exchange.text("path"))"
        return "\(what) answered \(answer?.status ?? 0): \(answer?.text.prefix(1000) ?? "")"
    }

    // MARK: - Requests

    /// Sends a request and stores the values that the row wants to keep. Returns nil for a command to the server that
    /// the code calls.
    private func send(_ exchange: JSON, _ memory: inout [String: String]) async throws -> ParseClient.Answer? {
        let request = CloudTableAnswers.filled(exchange, with: memory)
        if request["peer"] == true {
            _ = try await peer.control(request.text("path"), request["body"] ?? .null)
            return nil
        }
        let answer = try await answer(to: request, expected: Self.status(exchange))
        for (name, member) in request["keep"]?.objectValue ?? [:] {
            let place = member.stringValue ?? ""
            memory[name] =
                place.hasPrefix("header:")
                ? answer.headers.first(name: String(place.dropFirst("header:".count))) : answer.json.text(place)
        }
        return answer
    }

    /// Retries while the suite answers that it is overloaded.
    private func answer(to request: JSON, expected: Int) async throws -> ParseClient.Answer {
        var client = ParseClient(suite)
        switch request["as"]?.stringValue {
        case nil: break
        case "master"?: client.masterKey = Suite.masterKey
        case let who?: client.sessionToken = known["\(who).token"] ?? who
        }
        client.installationId = request["installation"]?.stringValue
        var headers = client.credentials
        for (name, value) in request["headers"]?.objectValue ?? [:] { headers.append((name, value.stringValue ?? "")) }
        var body: [UInt8]?
        if let sent = request["body"] {
            let type = request["type"]?.stringValue
            headers.append(("Content-Type", type ?? "application/json"))
            body = type == nil ? sent.serialized : Array((sent.stringValue ?? "").utf8)
        }
        let method = HTTPMethod(rawValue: request.text("method"))
        // A file's URL is absolute.
        let path = request.text("path").replacing(suite.url, with: "")
        var answer = try await client.send(method, path, headers: headers, body: body)
        let isBusy = { (status: Int) in status != expected && [429, 503].contains(status) }
        guard isBusy(answer.status) else { return answer }
        try await eventually("the suite takes \(path)") {
            answer = try await client.send(method, path, headers: headers, body: body)
            return !isBusy(answer.status)
        }
        return answer
    }
}
