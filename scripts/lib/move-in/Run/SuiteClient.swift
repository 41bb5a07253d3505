import Outbound
import ParseProtocol

/// The running suite, over HTTP with the master key.
struct SuiteClient: MoveSuite {
    /// With the mount path, without a trailing slash.
    let url: String
    let applicationId: String
    let masterKey: String
    private let http = OutboundClient()

    /// 50,000 lines of at most 160 bytes, and the schemas of 1,000 classes.
    private static let answerBytesMax = 32 << 20
    /// A batch of 4 MB is staged within a second; a disk under load takes longer.
    private static let timeout = Duration.seconds(120)

    /// The code for a request of which the gateway does not know whether the service carried it out.
    private static let interrupted: Int64 = 124

    init(url: String, applicationId: String, masterKey: String) {
        (self.url, self.applicationId, self.masterKey) = (url, applicationId, masterKey)
    }

    func stage(_ schema: MovedClass) async throws {
        let body: JSON = [
            "fields": .object(schema.fields), "classLevelPermissions": schema.classLevelPermissions ?? .null,
            "indexes": .object(schema.indexes),
        ]
        _ = try await send(.put, "/moves/classes/\(Self.path(schema.name))", body.serialized)
    }

    func stage(_ batch: Batch, of className: String) async throws {
        _ = try await send(.post, "/moves/rows/\(Self.path(className))", batch.bytes, type: "text/plain")
    }

    func unstage(_ ids: [String], of className: String, dropsClass: Bool) async throws {
        var body: JSON = ["ids": .array(ids.map(JSON.string))]
        if dropsClass { body["dropsClass"] = true }
        _ = try await send(.post, "/moves/removals/\(Self.path(className))", body.serialized)
    }

    func staged(_ className: String, after id: String, limit: Int) async throws -> StagedPage {
        let query: [String: JSON] = ["after": .string(id), "limit": .int(Int64(limit))]
        return try StagedPage(
            parsing: try await send(.get, "/moves/rows/\(Self.path(className))\(query.queryText)"))
    }

    func state() async throws -> MoveState { try MoveState(json: json(try await send(.get, "/moves"))) }

    func startSwitch(rehearses: Bool) async throws {
        let body: JSON = ["rehearses": .bool(rehearses)]
        // Without repetition: a second request would be refused because the first one runs.
        _ = try await perform(.post, "/moves/switch", body.serialized, type: "application/json")
    }

    func drop() async throws { _ = try await send(.delete, "/moves") }

    func schemas() async throws -> [JSON] {
        try json(try await send(.get, "/schemas"))["results"]?.arrayValue ?? []
    }

    func apply(_ setting: SettingRequest) async throws {
        _ = try await send(setting.verb == .create ? .post : .put, setting.path, setting.body.serialized)
    }

    // MARK: - Requests

    private func json(_ bytes: [UInt8]) throws -> JSON {
        do { return try JSON(parsing: bytes) } catch { throw MoveInError("The suite's answer is no JSON: \(error)") }
    }

    /// A class's name in a path, where the colons of `_Join:users:_Role` need no escape.
    private static func path(_ className: String) -> String {
        className.split(separator: ":", omittingEmptySubsequences: false).map { String($0).percentEncoded }
            .joined(separator: ":")
    }

    /// Sends an idempotent request, and repeats it when the connection fails, a service was interrupted or the suite
    /// answers 503.
    /// - Throws: `SuiteRefusal` for an answer that repeating does not change.
    private func send(
        _ method: OutboundRequest.Method, _ path: String, _ body: [UInt8] = [], type: String = "application/json"
    ) async throws -> [UInt8] {
        for attempt in 1... {
            do {
                return try await perform(method, path, body, type: type)
            } catch let failure as NoAnswer {
                guard let pause = Retry.pause(after: attempt, asked: failure.retryAfterSeconds) else {
                    throw MoveInError(failure.description)
                }
                try await Task.sleep(for: pause)
            }
        }
        throw CancellationError()
    }

    private func perform(
        _ method: OutboundRequest.Method, _ path: String, _ body: [UInt8], type: String
    ) async throws -> [UInt8] {
        let name = "\(method.rawValue) \(path.prefix { $0 != "?" })"
        var request = OutboundRequest(
            method, url + path,
            headers: [("X-Parse-Application-Id", applicationId), ("X-Parse-Master-Key", masterKey)], body: body,
            timeout: Self.timeout)
        if !body.isEmpty { request.headers.append(("Content-Type", type)) }
        request.answerBytesMax = Self.answerBytesMax
        request.isRepeatable = path != "/moves/switch"
        // Bypasses proxies, which must not see the master key.
        request.isDirect = true
        let answer: OutboundResponse
        do throws(OutboundFailure) {
            answer = try await http.send(request)
        } catch {
            guard error.reason != .cancelled else { throw CancellationError() }
            throw NoAnswer(description: "\(name): no answer (\(error)). Is the suite running?", retryAfterSeconds: nil)
        }
        if answer.status == 503 {
            throw NoAnswer(
                description: "\(name) answered 503: \(text(answer.body))",
                retryAfterSeconds: answer.headers["retry-after"].flatMap { Int($0) })
        }
        guard (200..<300).contains(answer.status) else {
            let json = try? JSON(parsing: answer.body)
            guard json?["code"]?.intValue != Self.interrupted else {
                throw NoAnswer(description: "\(name): \(text(answer.body))", retryAfterSeconds: nil)
            }
            throw SuiteRefusal(
                request: name, status: answer.status, code: json?["code"]?.intValue,
                message: json?["error"]?.stringValue ?? text(answer.body))
        }
        return answer.body
    }

    private func text(_ body: [UInt8]) -> String { String(decoding: body.prefix(500), as: UTF8.self) }
}

extension SuiteClient: ServedSuite {
    func answer(_ path: String, _ options: [String: JSON]) async throws -> [UInt8] {
        try await send(.get, path + options.queryText)
    }

    func secrets(of className: String, after id: String, limit: Int) async throws -> [UInt8] {
        let body: JSON = ["after": .string(id), "limit": .int(Int64(limit))]
        return try await send(.post, "/moves/secrets/\(Self.path(className))", body.serialized)
    }
}

/// The suite gave no answer, answered 503, or does not know what became of the request.
struct NoAnswer: Error, Sendable, CustomStringConvertible {
    var description: String
    var retryAfterSeconds: Int?
}

/// When a request is repeated.
enum Retry {
    /// Together more than a minute: a restart of the suite takes less.
    static let attemptsMax = 10

    /// The pause after a failed attempt; nil after the last one. Attempts count from 1.
    static func pause(after attempt: Int, asked seconds: Int?) -> Duration? {
        guard attempt < attemptsMax else { return nil }
        if let seconds { return .seconds(min(max(seconds, 1), 30)) }
        return .milliseconds(min(250 << min(attempt - 1, 10), 15_000))
    }
}
