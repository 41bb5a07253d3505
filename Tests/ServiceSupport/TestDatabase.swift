import Foundation
import ObjectStore

/// The database of one test: a file in a temporary folder, or a schema with that folder's name in the PostgreSQL
/// database of `SATCHEL_TEST_DATABASE` (a connection string).
package func testDatabase(_ service: String, in folder: URL) -> StoreDatabase {
    guard let server = ProcessInfo.processInfo.environment["SATCHEL_TEST_DATABASE"] else {
        return .file(path: folder.appending(path: "\(service).sqlite").path)
    }
    return .postgresql(PostgreSQLDatabase(connection: server, schema: folder.lastPathComponent))
}

/// Whether the database is a file: for tests of features that only SQLite has, such as its plans.
package let testsRunOnSQLite = ProcessInfo.processInfo.environment["SATCHEL_TEST_DATABASE"] == nil
