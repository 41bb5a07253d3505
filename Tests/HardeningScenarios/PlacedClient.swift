import NIOHTTP1
import ParseProtocol
import TestSupport

/// A client with its own address, in a suite that trusts loopback as a proxy.
struct PlacedClient: Sendable {
    /// The settings that the suite needs.
    static let settings = ["SATCHEL_TRUSTED_PROXIES": "127.0.0.1"]

    var client: ParseClient
    let address: String

    init(_ suite: Suite, at address: String, installationId: String? = nil) {
        client = ParseClient(suite)
        client.installationId = installationId
        self.address = address
    }

    func call(_ method: HTTPMethod, _ path: String, _ body: JSON? = nil) async throws -> ParseClient.Answer {
        try await client.send(
            method, path, headers: client.credentials + [("X-Forwarded-For", address)], body: body?.serialized)
    }

    func signIn(_ name: String, _ password: String) async throws -> ParseClient.Answer {
        try await call(.POST, "/login", ["username": .string(name), "password": .string(password)])
    }

    /// - Returns: the user's id.
    func signUp(_ name: String, _ password: String) async throws -> String {
        let answer = try await call(.POST, "/users", ["username": .string(name), "password": .string(password)])
        guard answer.status == 201 else { throw Unexpected("POST users", answer) }
        return answer.objectId
    }
}
