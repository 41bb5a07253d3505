import ParseProtocol

/// The times until which rows of a table wait, stored by the wall clock.
///
/// If the clock is set back, stored times lie too far ahead. A time more than `longest` ahead shows this, and `shorten`
/// replaces it.
public struct StoredWaits: Sendable {
    /// The table's name.
    public let table: String
    private let column: String
    private let longest: Duration
    private let rest: Duration
    private let condition: String

    /// - Parameters:
    ///   - column: the time, in milliseconds since 1970; an index should begin with it.
    ///   - longest: the longest wait that is ever stored. The column must hold no dates that an operator chose.
    ///   - rest: the remaining wait of rows whose wait was too long.
    ///   - condition: the rows that wait, in SQL.
    public init(
        _ column: String, of table: String, atMost longest: Duration, then rest: Duration = .zero,
        where condition: String = "TRUE"
    ) {
        self.column = column
        self.table = table
        self.longest = longest
        self.rest = rest
        self.condition = condition
    }

    /// Shortens waits that exceed the maximum.
    /// - Returns: the number of such rows.
    package func shorten(in store: ClassStore) async throws -> Int {
        let isAhead = try await store.read(for: nil) { reader in
            try !reader.rows(
                "SELECT 1 AS found FROM \(table) WHERE \(column) > ? AND \(condition) LIMIT 1", [end(at: .now)]
            ).isEmpty
        }
        guard isAhead else { return 0 }
        return try await store.write(for: nil) { transaction in
            try transaction.execute(
                "UPDATE \(table) SET \(column) = ? WHERE \(column) > ? AND \(condition)",
                [.int(transaction.now.advanced(by: rest).milliseconds), end(at: transaction.now)])
        }
    }

    private func end(at now: Timestamp) -> SQLValue { .int(now.advanced(by: longest).milliseconds) }
}
