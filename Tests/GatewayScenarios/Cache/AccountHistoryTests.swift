import Foundation
import ParseProtocol
import Synchronization
import TestSupport
import Testing

/// Linearizability of `GET /users/me`: once a change of the session, the account or its roles was acknowledged, or seen
/// by any client, no client sees the state before it.
@Suite(.serialized) struct AccountHistoryTests {
    /// Everything that changes the answer to a session.
    enum Step: CaseIterable, Sendable {
        case logOut, revokeAll, deleteSession, expire, sameDevice, ownPassword, masterPassword, mailedPassword, ban
        case deleteAccount, ownUpdate, masterUpdate, becomeAdmin, leaveAdmins, inheritAdmins
    }

    private static let rounds = 2

    /// - Parameter isServed: whether all data is in PostgreSQL.
    @Test(.timeLimit(.minutes(20)), arguments: [false, true])
    func nobodySeesTheStateBeforeAChange(isServed: Bool) async throws {
        let database = isServed ? try await PostgreSQLServer.shared.newDatabase() : ""
        try await Suite.with(settings: ["SATCHEL_DATABASE": database]) { suite in
            for step in Step.allCases {
                for _ in 0..<Self.rounds {
                    let history = try await history(AccountChange(step, suite))
                    #expect(history.violations.isEmpty, "\(step): \(history.violations)")
                    let seen = Set(history.operations.filter { !$0.isWrite }.map(\.version))
                    #expect(seen == [0, 1], "\(step)")
                }
            }
            let cache = try await ParseClient.master(suite).get("/serverInfo")["readCache"]
            #expect(cache?["hits"]?.intValue ?? 0 > 400, "\(cache ?? .null)")
        }
    }

    /// What the readers and the writer of a history share.
    private final class Progress: Sendable {
        let count = Mutex(0)
        let isOver = Atomic(false)
    }

    /// Several clients read an account before, during and after a change of it.
    /// - Returns: the state before as version 0, and the one after as version 1.
    private func history(_ change: AccountChange) async throws -> ReadHistory {
        let recorder = ReadHistoryRecorder()
        let progress = Progress()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for style in [ParseClient.Style.headers, .tunnelled, .headers, .tunnelled] {
                let client = change.reader(style)
                group.addTask {
                    var left = 8  // Requests after the change.
                    while left > 0 {
                        if progress.isOver.load(ordering: .sequentiallyConsistent) { left -= 1 }
                        let begin = recorder.now
                        guard let isAfter = try change.step.isAfter(await client.get("/users/me")) else { continue }
                        recorder.ended(["account": isAfter ? 1 : 0], isWrite: false, begin: begin)
                        progress.count.withLock { $0 += 1 }
                    }
                }
            }
            defer { progress.isOver.store(true, ordering: .sequentiallyConsistent) }
            try await eventually("the session is used") { progress.count.withLock { $0 > 40 } }
            let begin = recorder.now
            try await change.make()
            recorder.ended(["account": 1], isWrite: true, begin: begin)
            progress.isOver.store(true, ordering: .sequentiallyConsistent)
            try await group.waitForAll()
        }
        return recorder.recorded
    }

    /// The end of a session in time is no event.
    @Test func aSessionIsHonouredUntilItsEndAndNoLonger() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let session = try await customer.client.get("/sessions/me")
        let end = Timestamp.now.advanced(by: .seconds(3))
        let changed = try await ParseClient.master(suite).call(
            .PUT, "/sessions/\(session.objectId)", ["expiresAt": end.wire])
        try #require(changed.status == 200, "\(changed.text)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for style in [ParseClient.Style.headers, .tunnelled] {
                let client = ParseClient(suite, sessionToken: customer.client.sessionToken, style: style)
                group.addTask {
                    var isOver = false
                    while !isOver {
                        let begin = Timestamp.now
                        let answer = try await client.get("/users/me")
                        isOver = answer.code == 209
                        #expect(isOver ? Timestamp.now >= end : begin < end, "\(answer.text)")
                        guard isOver || answer.status == 200 else { throw Unexpected("GET users/me", answer) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// So every gateway on the host stops answering from its memory before the change is acknowledged.
    @Test func theEndOfASessionIsAnnouncedAsAChangeOfItsUser() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let path = ChangeBoard.path(beside: "\(suite.dataDirectory)/users.sqlite")
            let file = try Data(contentsOf: URL(fileURLWithPath: path))
            let identity = file.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) }
            let board = try #require(ChangeBoard.find(path, identity: identity))
            for step in [Step.logOut, .revokeAll, .deleteSession, .expire, .sameDevice] {
                let change = try await AccountChange(step, suite)
                let user = ChangeSubject.object(ofClass: "_User", id: change.customer.userId)
                let before = try #require(board.stamp(of: user), "\(step)")
                try await change.make()
                #expect(!before.isCurrent, "\(step)")
            }
        }
    }

    @Test func thePermissionsOfUsersCountAtOnce() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let customer = try await Customer.signUp(suite)
            let all: JSON = ["*": true]
            for (get, fields, code) in [
                (all, ["city"], nil), ([:], [], 119), (["requiresAuthentication": true], ["zipcode"], nil),
                (["role:admins": true], [], 119), (all, [], nil),
            ] as [(JSON, [JSON], Int?)] {
                let answer = try await ParseClient.master(suite).call(
                    .PUT, "/schemas/_User",
                    [
                        "classLevelPermissions": [
                            "find": all, "count": all, "get": get, "create": all, "update": all, "delete": all,
                            "addField": all, "protectedFields": ["*": .array(fields)],
                        ]
                    ])
                try #require(answer.status == 200, "\(answer.text)")
                for _ in 0..<3 {
                    let mine = try await customer.client.get("/users/me")
                    #expect(mine.code == code, "\(mine.text)")
                    guard mine.status == 200 else { continue }
                    let asked = try await customer.client.get("/users/\(customer.userId)")
                    #expect(mine.json == asked.json, "\(mine.text)")
                }
            }
        }
    }
}

extension AccountHistoryTests.Step {
    /// Whether an answer to the session shows the change; nil if it shows neither state.
    fileprivate func isAfter(_ answer: ParseClient.Answer) throws -> Bool? {
        // The suite is busy, or the account ends while it is read.
        if [429, 503].contains(answer.status) || answer.code == 101 { return nil }
        guard answer.status == 200 || answer.code == 209 else { throw Unexpected("GET users/me", answer) }
        switch self {
        case .ownUpdate, .masterUpdate: return answer["city"] == "Ulm"
        case .becomeAdmin, .inheritAdmins: return answer["isAdmin"] == true
        case .leaveAdmins: return answer["isAdmin"] != true
        default: return answer.code == 209
        }
    }
}

/// A change of a new customer's account, and a session that it concerns.
private struct AccountChange: Sendable {
    let step: AccountHistoryTests.Step
    private let suite: Suite
    let customer: Customer
    private let sessionId: String
    /// The role `admins`; empty if the change needs none.
    private let roleId: String
    /// The mailed link; nil if the change needs none.
    private let link: MailedLink?

    private var master: ParseClient { ParseClient.master(suite) }

    /// Prepares the change.
    init(_ step: AccountHistoryTests.Step, _ suite: Suite) async throws {
        var customer = try await Customer.signUp(suite)
        if step == .sameDevice {
            customer.client.installationId = Names.random(20)
            customer.client = try await customer.signInAgain()
        }
        var roleId = ""
        var link: MailedLink?
        switch step {
        case .leaveAdmins, .becomeAdmin, .inheritAdmins:
            let found = try await ParseClient.master(suite).find("_Role", ["name": "admins"])
            roleId = found.results.first?["objectId"]?.stringValue ?? ""
        case .mailedPassword:
            _ = try await ParseClient(suite).call(.POST, "/requestPasswordReset", ["email": .string(customer.email)])
            link = try await MailedLink.newest("request_password_reset", to: customer.email, in: suite)
        default: break
        }
        self.step = step
        self.suite = suite
        self.customer = customer
        sessionId = try await customer.client.get("/sessions/me").objectId
        self.roleId = roleId
        self.link = link
        if step == .leaveAdmins { _ = try await change("users", "AddRelation", customer.pointer) }
    }

    /// A client with the session.
    func reader(_ style: ParseClient.Style) -> ParseClient {
        ParseClient(suite, sessionToken: customer.client.sessionToken, style: style)
    }

    /// Makes the change.
    func make() async throws {
        let user = "/users/\(customer.userId)"
        let answer =
            switch step {
            case .logOut: try await customer.client.call(.POST, "/logout", [:])
            case .revokeAll: try await master.run("revokeSessions", ["userId": .string(customer.userId)])
            case .deleteSession: try await master.call(.DELETE, "/sessions/\(sessionId)")
            case .expire:
                try await master.call(
                    .PUT, "/sessions/\(sessionId)",
                    ["expiresAt": Timestamp.now.advanced(by: .seconds(-1)).wire])
            case .sameDevice:
                try await Customer.whenNotBusy {
                    var other = customer.client
                    other.sessionToken = nil
                    return try await other.call(
                        .POST, "/login",
                        ["username": .string(customer.email), "password": .string(customer.password)])
                }
            case .ownPassword:
                try await Customer.whenNotBusy {
                    try await customer.client.call(.PUT, user, ["password": .string(Names.random(12))])
                }
            case .masterPassword:
                try await Customer.whenNotBusy {
                    try await master.call(.PUT, user, ["password": .string(Names.random(12))])
                }
            case .mailedPassword:
                try await Customer.whenNotBusy {
                    guard let link else { throw NeverHappened("a mail with a link") }
                    return try await link.choose(Names.random(12))
                }
            case .ban: try await master.call(.PUT, user, ["ACL": [:]])
            case .deleteAccount: try await master.call(.DELETE, user)
            case .ownUpdate: try await customer.client.call(.PUT, user, ["city": "Ulm"])
            case .masterUpdate: try await master.call(.PUT, user, ["city": "Ulm"])
            case .becomeAdmin: try await change("users", "AddRelation", customer.pointer)
            case .leaveAdmins: try await change("users", "RemoveRelation", customer.pointer)
            case .inheritAdmins: try await change("roles", "AddRelation", .pointer("_Role", try await staff()))
            }
        guard answer.status == 200 else { throw Unexpected("\(step)", answer) }
    }

    /// A new role with the customer.
    private func staff() async throws -> String {
        let made = try await master.create(
            "_Role",
            [
                "name": .string("staff-\(Names.random(8))"), "ACL": [:],
                "users": ["__op": "AddRelation", "objects": [customer.pointer]],
            ])
        guard made.status == 201 else { throw Unexpected("POST roles", made) }
        return made.objectId
    }

    /// Changes a relation of the role `admins`.
    private func change(_ relation: String, _ operation: String, _ pointer: JSON) async throws -> ParseClient.Answer {
        let body: JSON = .object([relation: ["__op": .string(operation), "objects": [pointer]]])
        return try await master.call(.PUT, "/roles/\(roleId)", body)
    }
}
