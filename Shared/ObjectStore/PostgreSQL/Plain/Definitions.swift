/// Tables and indexes of a connection whose engine makes them outside of transactions (`Dialect.plain`).
///
/// At the start of the writer, and while a store is moved, nobody else sees what is half made: a transaction is
/// committed before each of them and another one begun (`Mode.between`), and whatever was not finished is made again.
/// A job of the writer is all or nothing: what it wants is noted, its transaction is taken back, the tables and indexes
/// are made, and the job is done again and finds them (`Mode.before`).
struct Definitions {
    enum Mode { case between, before }

    var mode = Mode.between
    /// Statements that the transaction under way wants to have been run before it.
    private(set) var wanted: [String] = []
    /// Tables of a class that it wants to be ready.
    private(set) var wantsClass = false
    /// Those that were run, with what became of each, until a transaction that asked for it is committed.
    private var outcomes: [String: StoreError?] = [:]
    /// Those that the transaction under way asked for.
    private var taken: Set<String> = []
    /// Whether indexes are there that nobody lists any more.
    private(set) var hasLeftIndexes = false

    /// More of them than one job wants; what nobody came back for goes.
    private static let outcomesMax = 1000

    var isWanting: Bool { wantsClass || !wanted.isEmpty }

    /// Takes what became of a statement that was run before this transaction, or notes that it is wanted.
    /// - Throws: its failure.
    mutating func take(_ statement: String) throws {
        guard let outcome = outcomes[statement] else { return wanted.append(statement) }
        taken.insert(statement)
        if let outcome { throw outcome }
    }

    /// A transaction begins; what one before it asked for and was not committed is still there.
    mutating func begin() { taken = [] }

    mutating func committed() {
        for statement in taken { outcomes[statement] = nil }
        taken = []
    }

    mutating func wantClass() { wantsClass = true }

    /// What is to be run now.
    mutating func takeWanted() -> (statements: [String], wantsClass: Bool) {
        defer { (wanted, wantsClass) = ([], false) }
        return (wanted, wantsClass)
    }

    mutating func note(_ statement: String, _ failure: StoreError?) {
        if outcomes.count >= Self.outcomesMax { outcomes = [:] }
        outcomes[statement] = .some(failure)
    }

    mutating func leaveIndex() { hasLeftIndexes = true }

    /// Indexes that nobody lists go now, also such as a job is still to come back for.
    mutating func dropLeftIndexes() { (hasLeftIndexes, outcomes) = (false, [:]) }

    /// Whether a statement makes, changes or removes something that is no row.
    static func isOne(_ statement: String) -> Bool {
        let start = statement.drop { $0.isWhitespace }.prefix(7).uppercased()
        return ["CREATE ", "ALTER T", "DROP TA", "DROP IN", "DROP TR", "DROP FU"].contains { start.hasPrefix($0) }
    }
}

/// How far a list of statements is that a start may be interrupted in (`Migrator`).
struct DefinitionProgress {
    let identifier: String
    /// Statements that are done.
    let done: Int
    /// Statements that were asked for by now.
    var asked = 0

    /// Whether the statement may have been run without a note of it: it is the first one after those.
    var isUnsure: Bool { asked == done + 1 }

    /// What the server says of something that is there, or gone, already.
    static let repeated: Set<String> = ["42P07", "42701", "42710", "42723", "42P01", "42703", "42704", "42883"]
}
