import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport

/// A client with its own address, reported by a trusted proxy. The quotas of different tests are therefore independent.
struct Neighbour: Sendable {
    var client: ParseClient
    let address: (String, String)
    var userId = ""

    init(_ suite: Suite) {
        client = ParseClient(suite)
        address = GatewaySuites.somewhere()
    }

    var pointer: JSON { .pointer("_User", userId) }

    func call(_ method: HTTPMethod, _ path: String, _ body: JSON = [:]) async throws -> ParseClient.Answer {
        try await client.send(
            method, path, headers: client.credentials + [address, ("Content-Type", "application/json")],
            body: body.serialized)
    }

    func upload(_ content: [UInt8]) async throws -> ParseClient.Answer {
        try await client.send(
            .POST, "/files/note.txt", headers: client.credentials + [address, ("Content-Type", "text/plain")],
            body: content)
    }

    func signUp(_ fields: JSON = [:]) async throws -> ParseClient.Answer {
        var body = fields
        body["authData"] = ["anonymous": ["id": .string(UUID().uuidString.lowercased())]]
        return try await call(.POST, "/users", body)
    }

    /// Another client at the same address, signed in as an anonymous user.
    func anonymousUser() async throws -> Neighbour {
        let answer = try await signUp()
        return try signedIn(answer)
    }

    /// Another client at the same address, with an account.
    func user() async throws -> Neighbour {
        for _ in 0..<100 {
            let answer = try await call(
                .POST, "/users", ["username": .string(Names.random(12)), "password": .string(Names.random(12))])
            guard answer.status == 503 else { return try signedIn(answer) }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw NeverHappened("A sign-up was admitted.")
    }

    private func signedIn(_ answer: ParseClient.Answer) throws -> Neighbour {
        guard answer.status == 201, let token = answer["sessionToken"]?.stringValue else {
            throw Unexpected("POST users", answer)
        }
        var user = self
        user.client.sessionToken = token
        user.userId = answer.objectId
        return user
    }

    /// Sends requests until one is refused.
    /// - Returns: the number of accepted requests, and the refusal if one occurs within `max` requests.
    static func count(
        _ max: Int, _ request: (Int) async throws -> ParseClient.Answer
    ) async throws -> (admitted: Int, refusal: ParseClient.Answer?) {
        for index in 0..<max {
            let answer = try await request(index)
            guard (200..<300).contains(answer.status) else { return (index, answer) }
        }
        return (max, nil)
    }
}

extension ParseClient.Answer {
    /// Whether a quota refused the request with a retry time.
    var isPaced: Bool {
        status == 429 && code == 155 && (headers.first(name: "retry-after").flatMap(Int.init) ?? 0) > 0
    }
}

/// Suites for quota tests, started by the first test that needs them. Both trust a proxy on loopback.
enum QuotaSuites {
    /// With the default quotas.
    static var standard: Suite { get async throws { try await standardStart.value } }
    private static let standardStart = Task {
        try await Suite.start(settings: ["SATCHEL_TRUSTED_PROXIES": "127.0.0.1"])
    }

    /// With small quotas, so that tests need few requests.
    static var small: Suite { get async throws { try await smallStart.value } }
    private static let smallStart = Task {
        try await Suite.start(settings: [
            "SATCHEL_TRUSTED_PROXIES": "127.0.0.1", "SATCHEL_FILE_UPLOAD": "anonymous",
            "SATCHEL_QUOTAS": [
                "objects=40/3600s per ip", "objects=12/3600s per user", "objectBytes=60000/3600s per user",
                "files=4/3600s per user", "fileBytes=300000/3600s per ip", "events=7/3600s per user",
                "eventBytes=20000/3600s per ip", "users=5/3600s per ip", "installations=3/3600s per ip",
                "carts=2/3600s per user", "reviews=2/3600s per user", "crashReports=5/3600s per ip",
                "classesMax=24", "fieldsMax=10", "itemsMax=6", "favoritesMax=2", "userFilesMax=3",
                "userInstallationsMax=2",
            ].joined(separator: ";"),
        ])
    }
}
