import ObjectStore
import ServiceSupport
import UsersService

/// A test key for accounts.
let testAccountKey = AccountKey((0..<UInt8(AccountKey.bytes)).map { $0 })

/// A store with the classes, tables and rules of `users`, for one test.
func withUsersSandbox(_ body: (SandboxStore) async throws -> Void) async throws {
    let hasher = PasswordHasher(cost: ScryptCost(parallelism: 1))
    try await body(SandboxStore(usersPlan(hasher: hasher, key: testAccountKey)))
}

/// The same store without the rules.
func withUsersStore(_ body: (ClassStore) async throws -> Void) async throws {
    try await withUsersSandbox { try await body($0.store) }
}
