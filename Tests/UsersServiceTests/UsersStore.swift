import Foundation
import Logging
import ObjectStore
import ParseProtocol
import ServiceKit
import UsersService

/// A key of the accounts, for tests.
let testAccountKey = AccountKey((0..<UInt8(AccountKey.bytes)).map { $0 })

/// A store with the classes and tables of `users`, for one test.
func withUsersStore(_ body: (ClassStore) async throws -> Void) async throws {
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
    try await body(store)
}
