import ParseProtocol
import PostgreSQL
import Synchronization

/// Takes rows for this process (`RowClaim`), on a connection of its own: such a transaction reads what others add all
/// the time, so that among the serializable ones of the writer it would be overtaken, and overtake, for nothing.
final class RowClaimer: @unchecked Sendable {
    private let database: PostgreSQLDatabase
    private let queue = BlockingQueue("claims")
    /// Used on the queue alone.
    private var connection: PostgreSQLStoreConnection?
    private let isStopped = Atomic(false)

    /// After that a server that does not answer is given up.
    private static let limit = Duration.seconds(5)

    init(_ database: PostgreSQLDatabase) {
        self.database = database.setting(["default_transaction_isolation": "read committed"])
    }

    /// - Throws: `StoreError`, `.timeout` (124); rows may be claimed then, whose time ends unused.
    func take(_ claim: RowClaim) async throws -> [SQLRow] {
        try await queue.run { [self] () throws(any Error) in
            guard !isStopped.load(ordering: .relaxed) else { return [] }
            let connection = try self.connection ?? PostgreSQLStoreConnection(database)
            self.connection = connection
            try connection.revive()
            // Its time begins when its turn has come.
            let (sql, arguments) = claim.statement(at: .now)
            return try connection.limited(to: Self.limit) { try connection.rows(sql, arguments) }
        }
    }

    /// Takes nothing from then on. What is under way is not waited for.
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
