import ParseProtocol
import PostgreSQL
import Synchronization

/// Claims rows for this process (`RowClaim`) on a separate connection, outside of the writer's serializable
/// transactions. A claim reads rows that other processes add all the time, so it would cause needless conflicts there.
/// `ClassStore.claim` uses it.
final class RowClaimer: @unchecked Sendable {
    private let database: PostgreSQLDatabase
    private let queue = BlockingQueue("claims")
    /// Used only on the queue.
    private var connection: PostgreSQLStoreConnection?
    private let isStopped = Atomic(false)

    /// The timeout for a server that does not respond.
    private static let limit = Duration.seconds(5)

    init(_ database: PostgreSQLDatabase) {
        self.database = database.setting(["default_transaction_isolation": "read committed"])
    }

    /// - Throws: `StoreError`, `.timeout` (124). Rows may then be claimed whose claim expires unused.
    func take(_ claim: RowClaim) async throws -> [SQLRow] {
        try await queue.run { [self] () throws(any Error) in
            guard !isStopped.load(ordering: .relaxed) else { return [] }
            let connection = try self.connection ?? PostgreSQLStoreConnection(database)
            self.connection = connection
            try connection.revive()
            // The claim starts when it leaves the queue.
            let (sql, arguments) = claim.statement(at: .now)
            return try connection.limited(to: Self.limit) { try connection.rows(sql, arguments) }
        }
    }

    /// Claims nothing more. Does not wait for a running claim.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        Task { [self] in
            await queue.run {
                self.connection?.close()
                self.connection = nil
            }
        }
    }
}
