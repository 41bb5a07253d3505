import Foundation
import Messages
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing
import UsersService

/// Roles in a store, where clients may choose ids.
@Suite struct UsersRoleStoreTests {
    @Test func clientsMakeRolesOnlySignedInAndWithoutAnId() async throws {
        try await withUsersSandbox { sandbox in
            func code(_ name: String, by userId: String, objectId: String? = nil) async -> Int? {
                await parseCode {
                    try await sandbox.apply(
                        .create, "_Role", objectId, ["name": .string(name), "ACL": [:]], as: .user(userId))
                }
            }
            #expect(await code("a", by: "") == 101)
            #expect(await code("a", by: "u1") == nil)
            #expect(await code("b", by: "u1", objectId: "mine") == 105)
        }
    }

    /// Both deletions are prepared before one is carried out.
    @Test func twoAdminsDoNotBothDeleteTheirAccounts() async throws {
        try await withUsersSandbox { sandbox in
            var ids: [String] = []
            for name in ["first", "second"] {
                let user: JSON = ["username": .string(name), "password": "secret-word"]
                ids.append(try await sandbox.apply(.create, "_User", nil, user, as: Principal()).objectId)
            }
            let role = try await sandbox.apply(
                .create, "_Role", nil, ["name": .string(adminsRole), "ACL": [:]], as: .satchel)
            let members: JSON = [
                "__op": "AddRelation", "objects": .array(ids.map { JSON.pointer("_User", $0) }),
            ]
            try await sandbox.apply(.update, "_Role", role.objectId, ["users": members], as: .satchel)
            let plan = usersPlan(hasher: PasswordHasher(cost: ScryptCost(parallelism: 1)), key: testAccountKey)
            let rules = try plan.classRules(over: sandbox.store, in: FileManager.default.temporaryDirectory.path)
            let ofUsers = try #require(rules["_User"])
            var changes: [ProposedChange] = []
            for id in ids {
                let admin = Principal.with {
                    $0.userID = id
                    $0.roles = [adminsRole]
                }
                var change = ProposedChange(
                    verb: .delete, className: "_User", objectId: id, object: [:], principal: admin, for: nil)
                try await ofUsers.prepare(&change)
                changes.append(change)
            }
            var codes: [Int?] = []
            for change in changes {
                codes.append(
                    await parseCode {
                        _ = try await sandbox.store.write { try ServiceRoutes.apply(change, ofUsers, in: $0) }
                    })
            }
            #expect(codes == [nil, 119])
        }
    }
}
