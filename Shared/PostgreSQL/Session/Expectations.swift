/// The answers that the server still owes, in their order.
struct Expectations {
    enum Expectation {
        case preparation(PostgreSQLStatement, name: String)
        /// A run of a statement; its number is nil when nobody wants the rows.
        case execution(PostgreSQLStatement, run: Int?, Tally?)
        /// The end of a prepared statement; failures are passed over.
        case removal
        case sync
    }

    private var all: [Expectation] = []
    private var answered = 0
    /// Whether the results of the first are one row each.
    var isStreaming = false

    var count: Int { all.count - answered }
    var isEmpty: Bool { count == 0 }
    var rest: ArraySlice<Expectation> { all[answered...] }
    var first: Expectation? { rest.first }

    mutating func append(_ expectation: Expectation) { all.append(expectation) }

    mutating func removeFirst() {
        isStreaming = false
        answered += 1
        if answered == all.count {
            all.removeAll(keepingCapacity: true)
            answered = 0
        }
    }
}

/// The numbers of rows that the statements of a batch changed.
final class Tally {
    var counts: [Int] = []
}
