import NIOHTTP1
import ParseProtocol
import TestSupport

/// The shared suite with one signed-in operator of each role.
struct Desk: Sendable {
    static let roles = ["catalog-editors", "order-desk", "support", "developers"]

    let suite: Suite
    let admin: ParseClient
    private let operators: [String: Customer]

    static var shared: Desk { get async throws { try await start.value } }
    private static let start = Task { try await Desk(try await Suite.shared) }

    private init(_ suite: Suite) async throws {
        self.suite = suite
        admin = try await Customer.admin(suite)
        var operators: [String: Customer] = [:]
        for role in Self.roles {
            let member = try await Customer.signUp(suite)
            let id = try await Self.id(of: role, suite)
            let added = try await admin.call(.PUT, "/roles/\(id)", Self.adding(member.pointer))
            guard added.status == 200 else { throw Unexpected("An admin's PUT of \(role)", added) }
            operators[role] = member
        }
        self.operators = operators
    }

    private struct NoSuchRole: Error { let name: String }

    func member(of role: String) throws -> Customer {
        guard let member = operators[role] else { throw NoSuchRole(name: role) }
        return member
    }

    static func id(of role: String, _ suite: Suite) async throws -> String {
        let found = try await ParseClient.master(suite).find("_Role", ["name": .string(role)])
        guard let role = found.results.first else { throw Unexpected("find of the role \(role)", found) }
        return role.objectId
    }

    static func adding(_ user: JSON) -> JSON { ["users": ["__op": "AddRelation", "objects": [user]]] }
}

extension ParseClient.Answer {
    /// True if the caller lacks the right, whatever else is wrong with the request.
    var isForbidden: Bool { status == 403 || code == 119 }
}

extension Outcome {
    var isForbidden: Bool { status == 403 || code == 119 }
}
