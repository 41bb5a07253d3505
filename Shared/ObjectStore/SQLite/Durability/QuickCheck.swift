/// `PRAGMA quick_check` of a database, which reads all of its pages (https://www.sqlite.org/pragma.html).
package enum QuickCheck: Equatable {
    case sound
    case damaged(String)
    /// The time was over.
    case unfinished

    /// - Throws: `StoreError`.
    package static func run(path: String, within limit: Duration) throws -> QuickCheck {
        let connection = try SQLiteConnection(path: path, writing: nil)
        defer { connection.close() }
        return try run(connection, within: limit)
    }

    static func run(_ connection: SQLiteConnection, within limit: Duration) throws -> QuickCheck {
        do {
            let answer = try connection.interrupted(after: limit) { try connection.rows("PRAGMA quick_check(1)") }
            guard let text = try answer.first?.text(0), text != "ok" else { return .sound }
            // For a log line.
            return .damaged(text.split(separator: "\n").joined(separator: " "))
        } catch let error as StoreError where error.isInterruption {
            return .unfinished
        }
    }
}
