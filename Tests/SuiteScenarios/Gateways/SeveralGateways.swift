import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport

/// A suite whose gateways a test calls individually, and stops to simulate a host that stalls.
struct SeveralGateways {
    let suite: Suite

    /// Sends a request to one gateway, from loopback.
    func call(
        _ gateway: Int, _ client: ParseClient, _ method: HTTPMethod, _ path: String, _ body: JSON? = nil
    ) async throws -> ParseClient.Answer {
        var client = client
        client.url = suite.url(ofGateway: gateway)
        let headers = [("X-Forwarded-For", "127.0.0.1")] + (body == nil ? [] : [("Content-Type", "application/json")])
        return try await client.send(method, path, headers: client.credentials + headers, body: body?.serialized)
    }

    /// A client with a new session of a user.
    func session(of userId: String) async throws -> ParseClient {
        let opened = try await ParseClient.master(suite).call(.POST, "/loginAs", ["userId": .string(userId)])
        guard let token = opened["sessionToken"]?.stringValue else { throw Unexpected("POST loginAs", opened) }
        return ParseClient(suite, sessionToken: token)
    }

    /// Whether a gateway accepts a session as the user's; nil when it cannot decide. Only the gateway decides: the bag
    /// service knows no sessions, and `/users/me` is cached.
    func isHonoured(_ client: ParseClient, at gateway: Int) async throws -> Bool? {
        let answer = try await call(gateway, client, .GET, Bool.random() ? "/classes/Address?limit=1" : "/users/me")
        if answer.status == 200 { return true }
        return answer.code == 209 ? false : nil
    }

    func untilHonoured(_ client: ParseClient) async throws {
        for gateway in [1, 2] {
            try await eventually("gateway \(gateway) knows the session") {
                try await isHonoured(client, at: gateway) == true
            }
        }
    }

    /// Stops a gateway during `body`, and continues it before `after` ends.
    func stopping<Done: Sendable>(
        _ gateway: Int, while body: () async throws -> Void, after: @escaping @Sendable () async throws -> Done
    ) async throws -> Done {
        guard let pid = suite.processId(of: "gateway-\(gateway)"), kill(pid, SIGSTOP) == 0 else {
            throw NeverHappened("gateway-\(gateway) is stopped")
        }
        defer { kill(pid, SIGCONT) }
        try await body()
        let done = Task { try await after() }
        kill(pid, SIGCONT)
        return try await done.value
    }
}
