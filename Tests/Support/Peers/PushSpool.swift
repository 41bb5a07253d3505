import Foundation
import ParseProtocol

extension Suite {
    /// The notifications in the push spool, one JSON object each.
    package func notifications() -> [JSON] {
        let folder = dataDirectory + "/push"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".json") }.compactMap {
            FileManager.default.contents(atPath: "\(folder)/\($0)").flatMap { try? JSON(parsing: Array($0)) }
        }
    }

    /// The tokens of the devices that received this push.
    package func devices(of pushId: String) -> Set<String> {
        Set(notifications().filter { $0["pushId"] == .string(pushId) }.compactMap { $0["deviceToken"]?.stringValue })
    }
}

/// Devices with the app, registered for one scenario.
package struct Devices: Sendable {
    /// A channel that no other scenario uses.
    package let channel: String
    /// Object ids by device token.
    package let objectIds: [String: String]

    /// Registers a device for each token, all in a new channel.
    package static func register(
        _ suite: Suite, tokens: [String], fields: JSON = [:], channel: String = "c\(Names.random(10))"
    ) async throws -> Devices {
        var client = ParseClient(suite)
        client.timeout = .seconds(60)
        var objectIds: [String: String] = [:]
        for start in stride(from: 0, to: tokens.count, by: 200) {
            let part = tokens[start..<min(start + 200, tokens.count)]
            let requests = part.map { token -> JSON in
                var body: JSON = ["deviceType": "ios", "deviceToken": .string(token), "channels": [.string(channel)]]
                for (name, value) in fields.objectValue ?? [:] { body[name] = value }
                return ["method": "POST", "path": "/parse/installations", "body": body]
            }
            let answer = try await client.call(.POST, "/batch", ["requests": .array(requests)])
            let made = answer.json.arrayValue?.compactMap { $0.at("success", "objectId")?.stringValue } ?? []
            guard made.count == part.count else { throw Unexpected("POST batch of installations", answer) }
            for (token, objectId) in zip(part, made) { objectIds[token] = objectId }
        }
        return Devices(channel: channel, objectIds: objectIds)
    }
}

extension ParseClient {
    /// Sends a push and returns the id of its status.
    package func push(_ body: JSON) async throws -> String {
        let answer = try await call(.POST, "/push", body)
        guard answer.status == 200, answer.json == ["result": true],
            let id = answer.headers.first(name: "X-Parse-Push-Status-Id")
        else { throw Unexpected("POST push", answer) }
        return id
    }

    /// Waits until a push is finished and returns its status.
    package func pushEnded(_ id: String, within limit: Duration = .seconds(20)) async throws -> JSON {
        var status = JSON.null
        try await eventually("push \(id) is over", within: limit) {
            status = try await get("/classes/_PushStatus/\(id)").json
            return ["succeeded", "failed"].contains(status["status"])
        }
        return status
    }
}

extension Suite {
    /// Replaces the spool's folder with a file, so that writes fail, or restores it.
    package func replaceSpool(byFile isBroken: Bool) async throws {
        let folder = dataDirectory + "/push"
        try FileManager.default.removeItem(atPath: folder)
        if isBroken {
            try Data("not a folder".utf8).write(to: URL(fileURLWithPath: folder))
        } else {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
    }
}
