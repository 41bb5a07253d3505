import Foundation
import MessageBus
import Messages
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing
import UsersService

/// Changes that operators make to their own password, when the bus repeats them.
@Suite struct OwnSecurityTests {
    private static func lane(over sandbox: SandboxStore) throws -> RouteHandler {
        let hasher = PasswordHasher(cost: ScryptCost(parallelism: 1))
        let means = AccountDependencies(
            hasher: hasher, providers: IdentityProviders(), settings: UsersSettings(), key: testAccountKey)
        let host = try usersPlan(means).host(over: sandbox.store, in: FileManager.default.temporaryDirectory.path)
        let routes = try ServiceRoutes(host: host) { buildUsers($0, &$1, means, signIns: hasher) }
        return RouteHandler(routes: routes, reader: try sandbox.store.makeReader(), load: RunningRequests())
    }

    private static func call(
        _ name: String, _ parameters: JSON, key: String, as principal: Principal, on lane: RouteHandler
    ) async throws -> JSON {
        var request = BusRequest(
            kind: ObjectCalls(of: "users").function.kind,
            body: try FunctionRequest.with { $0.name = name }.serializedBytes(), timeout: .seconds(30))
        request.principal = principal
        request.writes = true
        request.idempotencyKey = key
        let message = BusMessage(
            envelope: request.envelope, body: request.body, documents: [parameters.serialized])
        let reply: BusReply = try await withCheckedThrowingContinuation { continuation in
            lane.handle(ServiceRequest(message) { continuation.resume(with: $0) })
            lane.batchEnded()
        }
        return try JSON(parsing: reply.documents.first ?? [])
    }

    @Test func aRepeatedChangeOfThePasswordGetsTheFirstReply() async throws {
        try await withUsersSandbox { sandbox in
            let account: JSON = ["username": "ann", "password": "the-old-one"]
            let userId = try await sandbox.apply(.create, "_User", nil, account, as: Principal()).objectId
            var principal = Principal.user(userId)
            principal.roles = [OperatorArea.support.role]
            let lane = try Self.lane(over: sandbox)
            let change: JSON = ["oldPassword": "the-old-one", "newPassword": "the-new-one"]
            var replies: [JSON] = []
            for _ in 0..<2 {
                replies.append(
                    try await Self.call("changeOperatorPassword", change, key: "k", as: principal, on: lane))
            }
            #expect(replies[0]["sessionToken"]?.stringValue?.isEmpty == false)
            #expect(replies[0] == replies[1])
        }
    }
}
