import Foundation
import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing
import UsersService

/// Roles in a store, where clients may choose ids.
@Suite struct UsersRoleStoreTests {
    @Test func clientsMakeRolesOnlySignedInAndWithoutAnId() async throws {
        let directory = NSTemporaryDirectory() + "users-" + Names.random(10)
        let plan = usersPlan(hasher: PasswordHasher(cost: ScryptCost(parallelism: 1)), key: testAccountKey)
        let store = try ClassStore(
            path: directory + "/users.sqlite", classes: plan.classes, synchronous: .normal, allowClassCreation: false,
            allowCustomObjectId: true, migrations: [plan.migrations],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        defer {
            store.stop()
            try? FileManager.default.removeItem(atPath: directory)
        }
        await withCheckedContinuation { started in store.startWriting { started.resume() } }
        let rules = try plan.classRules(over: store, in: directory)["_Role"]

        func create(_ name: String, by userId: String, objectId: String? = nil) async throws {
            var change = ProposedChange(
                verb: .create, className: "_Role", objectId: objectId, object: ["name": .string(name), "ACL": [:]],
                principal: Principal.with { $0.userID = userId })
            try await rules?.prepare(&change)
            let prepared = change
            _ = try await store.write { try ServiceRoutes.apply(prepared, rules, in: $0) }
        }
        func code(_ work: () async throws -> Void) async -> Int? {
            do { try await work() } catch { return (error as? ParseError)?.code.rawValue ?? 0 }
            return nil
        }
        #expect(await code { try await create("a", by: "") } == 101)
        #expect(await code { try await create("a", by: "u1") } == nil)
        #expect(await code { try await create("b", by: "u1", objectId: "mine") } == 105)
    }
}
