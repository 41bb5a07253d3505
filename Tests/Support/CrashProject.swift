import Foundation
import ParseProtocol

/// A crash report project and the key with which an app reports to it.
package struct CrashProject {
    package let suite: Suite
    package let admin: ParseClient
    package let id: String
    package let key: String
    package let dsn: String

    package init(suite: Suite, admin: ParseClient, id: String, key: String, dsn: String) {
        self.suite = suite
        self.admin = admin
        self.id = id
        self.key = key
        self.dsn = dsn
    }

    /// Creates a new project. Each test has its own, so that tests do not see each other's issues.
    package static func create(_ suite: Suite) async throws -> CrashProject {
        let admin = try await Customer.admin(suite)
        let made = try await admin.run("createCrashProject", ["name": "Shop app"])
        guard !made.result.text("dsn").isEmpty else { throw Unexpected("createCrashProject", made) }
        return CrashProject(
            suite: suite, admin: admin, id: made.result.text("projectId"), key: made.result.text("key"),
            dsn: made.result.text("dsn"))
    }

    package func issues(_ parameters: [String: JSON] = [:]) async throws -> [JSON] {
        let all = try await admin.run(
            "crashIssues", .object(parameters.merging(["projectId": .string(id)]) { own, _ in own }))
        guard let issues = all.result.arrayValue else { throw Unexpected("crashIssues", all) }
        return issues
    }

    /// Sends bytes as an SDK does. Sends no key when `key` is nil.
    /// - Parameter address: the client address, for suites that trust loopback as a proxy.
    package func send(
        _ body: [UInt8], to endpoint: String = "envelope", key: String?, encoding: String? = nil,
        query: String = "",
        project: String? = nil, from address: String? = nil
    ) async throws -> ParseClient.Answer {
        var client = ParseClient(suite)
        client.url = suite.url.replacingOccurrences(of: "/parse", with: "")
        var headers = [("Content-Type", "application/x-sentry-envelope")]
        if let key {
            headers.append(("X-Sentry-Auth", "Sentry sentry_version=7, sentry_key=\(key), sentry_client=t/1"))
        }
        if let encoding { headers.append(("Content-Encoding", encoding)) }
        if let address { headers.append(("X-Forwarded-For", address)) }
        return try await client.send(
            .POST, "/api/\(project ?? id)/\(endpoint)/\(query)", headers: headers, body: body)
    }

    package func report(
        _ type: String, release: String, user: String? = nil, eventId: String? = nil, from address: String? = nil
    ) async throws {
        let answer = try await send(
            Self.envelope(type, release: release, user: user, eventId: eventId ?? Self.newId()), key: key,
            from: address)
        guard answer.status == 200 else { throw Unexpected("envelope", answer) }
    }

    package static func envelope(
        _ type: String, release: String, user: String? = nil, eventId: String, dsn: String? = nil
    ) -> [UInt8] {
        var event: JSON = [
            "event_id": .string(eventId), "release": .string(release), "level": "fatal", "platform": "cocoa",
            "exception": [
                "values": [
                    [
                        "type": .string(type), "value": "index 7",
                        "stacktrace": ["frames": [["function": "checkout()", "module": "Shop", "in_app": true]]],
                    ]
                ]
            ],
        ]
        event["user"] = user.map { ["id": .string($0), "email": .string("\($0)@example.com")] }
        return Array(envelope(of: event, eventId: eventId, dsn: dsn).utf8)
    }

    /// An event in the envelope format that SDKs send.
    package static func envelope(of event: JSON, eventId: String, dsn: String? = nil) -> String {
        var header: JSON = ["event_id": .string(eventId)]
        header["dsn"] = dsn.map(JSON.string)
        let text = event.serializedText
        return "\(header.serializedText)\n{\"type\":\"event\",\"length\":\(text.utf8.count)}\n\(text)\n"
    }

    /// Reports an app session as SDKs do, at its start or end.
    /// - Parameter status: `ok` while the session runs, else how it ended.
    package func tell(
        session: String, of device: String, release: String, status: String = "ok", started: Timestamp = .now
    ) async throws {
        let report: JSON = [
            "sid": .string(session), "did": .string(device), "status": .string(status), "init": .bool(status == "ok"),
            "started": .string(started.iso), "timestamp": .string(Timestamp.now.iso),
            "attrs": ["release": .string(release), "environment": "production"],
        ]
        let text = report.serializedText
        let item = "{\"type\":\"session\",\"length\":\(text.utf8.count)}"
        let answer = try await send(Array("{}\n\(item)\n\(text)\n".utf8), key: key)
        guard answer.status == 200 else { throw Unexpected("envelope", answer) }
    }

    package static func newId() -> String {
        UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: "")
    }
}
