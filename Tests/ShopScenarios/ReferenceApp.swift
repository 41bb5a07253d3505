import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The reference app's iPhone: the requests that its Objective-C SDK 1.8 sends for the calls of the app's screens
/// (MOBILE_SDKS.md, sections 1 and 5). Reads are POST with `_method`; `limit`, `skip` and `count` are strings.
struct ReferenceApp {
    let suite: Suite
    var sessionToken: String?
    let installationId = UUID().uuidString.lowercased()

    init(_ suite: Suite) { self.suite = suite }

    private var headers: [(String, String)] {
        let session = sessionToken.map { [("X-Parse-Session-Token", $0)] } ?? []
        return session + [
            ("X-Parse-Application-Id", "satchel"), ("X-Parse-Client-Version", "i1.8.5"),
            ("X-Parse-OS-Version", "9.0 (13A344)"), ("X-Parse-App-Build-Version", "1"),
            ("X-Parse-App-Display-Version", "1.0"), ("X-Parse-Installation-Id", installationId),
            ("X-Parse-Revocable-Session", "1"),
        ]
    }

    /// A command with a body.
    func send(_ method: String, _ path: String, _ body: JSON) async throws -> ParseClient.Answer {
        // Apple's encoder escapes slashes.
        let text = body.serializedText.replacing("/", with: "\\/")
        return try await ParseClient(suite).send(
            method == "PUT" ? .PUT : .POST, path,
            headers: headers + [("Content-Type", "application/json; charset=utf8")], body: Array(text.utf8))
    }

    func delete(_ path: String) async throws -> ParseClient.Answer {
        try await ParseClient(suite).send(.DELETE, path, headers: headers)
    }

    /// `findObjectsInBackground`.
    func find(
        _ className: String, where condition: JSON = [:], order: String = "", limit: Int? = nil, skip: Int = 0,
        include: String = ""
    ) async throws -> [JSON] {
        var body: JSON = ["_method": "GET"]
        if condition != [:] { body["where"] = condition }
        if !order.isEmpty { body["order"] = .string(order) }
        if let limit { body["limit"] = .string(String(limit)) }
        if skip > 0 { body["skip"] = .string(String(skip)) }
        if !include.isEmpty { body["include"] = .string(include) }
        let answer = try await send("POST", "/classes/\(className)", body)
        guard answer.status == 200 else { throw Unexpected("a query of \(className)", answer) }
        return answer.results
    }

    /// `getFirstObjectInBackground`, and `getObjectInBackgroundWithId` by a condition on the objectId.
    func first(_ className: String, where condition: JSON, include: String = "") async throws -> JSON? {
        let found = try await find(className, where: condition, limit: 1, include: include)
        #expect(found.count <= 1)
        return found.first
    }

    /// `countObjectsInBackground`.
    func count(_ className: String, where condition: JSON) async throws -> Int64? {
        let body: JSON = ["where": condition, "count": "1", "limit": "0", "_method": "GET"]
        return try await send("POST", "/classes/\(className)", body)["count"]?.intValue
    }

    /// `saveInBackground` of a new object.
    /// - Returns: its objectId.
    func create(_ className: String, _ fields: JSON) async throws -> String {
        let answer = try await send("POST", "/classes/\(className)", fields)
        guard answer.status == 201 else { throw Unexpected("a save of \(className)", answer) }
        return answer.objectId
    }

    func update(_ className: String, _ objectId: String, _ changes: JSON) async throws -> ParseClient.Answer {
        let answer = try await send("PUT", "/classes/\(className)/\(objectId)", changes)
        guard answer.status == 200 else { throw Unexpected("a change of \(className)", answer) }
        return answer
    }

    /// `PFCloud callFunctionInBackground:`.
    func call(_ function: String, _ parameters: JSON) async throws -> JSON {
        let answer = try await send("POST", "/functions/\(function)", parameters)
        guard answer.status == 200 else { throw Unexpected(function, answer) }
        return answer.result
    }

    /// The query of a `PFQueryTableViewController`: loads pages until one is not full.
    func pages(
        _ className: String, where condition: JSON, order: String, perPage: Int, include: String = ""
    ) async throws -> [[JSON]] {
        var pages: [[JSON]] = []
        repeat {
            pages.append(
                try await find(
                    className, where: condition, order: order, limit: perPage, skip: pages.count * perPage,
                    include: include))
        } while pages.last?.count == perPage
        return pages
    }

    /// Starts the app for the first time: an automatic user, saved when it is first needed.
    mutating func start() async throws -> String {
        let user = try await send(
            "POST", "/users", ["authData": ["anonymous": ["id": .string(UUID().uuidString.lowercased())]]])
        guard user.status == 201 else { throw Unexpected("an anonymous user", user) }
        sessionToken = user["sessionToken"]?.stringValue
        return user.objectId
    }

    /// `logInWithUsernameInBackground:`, without the previous user's token.
    mutating func logIn(_ name: String, password: String) async throws {
        sessionToken = nil
        let answer = try await send(
            "POST", "/login", ["username": .string(name), "password": .string(password), "_method": "GET"])
        guard answer.status == 200 else { throw Unexpected("a log-in", answer) }
        sessionToken = answer["sessionToken"]?.stringValue
    }

    /// Saves an object's children, which the SDK sends as a batch before the object.
    /// - Returns: the objectIds of created objects.
    func batch(_ requests: [JSON]) async throws -> [String] {
        let answer = try await send("POST", "/batch", ["requests": .array(requests)])
        let items = answer.json.arrayValue ?? []
        guard items.count == requests.count, items.allSatisfy({ $0["success"] != nil }) else {
            throw Unexpected("a batch", answer)
        }
        return items.compactMap { $0.at("success", "objectId")?.stringValue }
    }

    /// Signs the anonymous user up.
    mutating func signUp(_ userId: String, email: String, password: String) async throws {
        let answer = try await update(
            "_User", userId,
            [
                "username": .string(email), "email": .string(email), "password": .string(password),
                "authData": ["anonymous": .null],
            ])
        if let token = answer["sessionToken"]?.stringValue { sessionToken = token }
    }
}
