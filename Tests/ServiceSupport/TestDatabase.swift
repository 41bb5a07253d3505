import Foundation
import ObjectStore

/// The database of one test: a file in a folder of its own, or a schema of that folder's name in the PostgreSQL
/// database that `SATCHEL_TEST_DATABASE` names by its connection string; with `SATCHEL_TEST_POSTGRESQL=plain` without
/// what only PostgreSQL has.
package func testDatabase(_ service: String, in folder: URL) -> StoreDatabase {
    guard let server = ProcessInfo.processInfo.environment["SATCHEL_TEST_DATABASE"] else {
        return .file(path: folder.appending(path: "\(service).sqlite").path)
    }
    return .postgresql(
        PostgreSQLDatabase(
            connection: server, schema: folder.lastPathComponent,
            isPlain: testsArePlain))
}

/// Whether it is one of nothing that only PostgreSQL has.
package let testsArePlain = ProcessInfo.processInfo.environment["SATCHEL_TEST_POSTGRESQL"] == "plain"

/// Whether that is a file: for tests of what only SQLite has, such as its plans.
package let testsRunOnSQLite = ProcessInfo.processInfo.environment["SATCHEL_TEST_DATABASE"] == nil
