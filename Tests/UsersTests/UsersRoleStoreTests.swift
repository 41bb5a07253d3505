import ParseProtocol
import ServiceSupport
import Testing

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
}
