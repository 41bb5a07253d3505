/// The outstanding answers of the server, in their order.
struct Expectations {
    enum Expectation {
        case preparation(Preparation, name: String)
        /// A run of a statement; the run number is nil when the caller does not need the rows.
        case execution(PostgreSQLStatement, run: Int?, Tally?)
        /// The removal of a prepared statement; its failure is ignored.
        case removal
        case sync
    }

    private var all: [Expectation] = []
    private var answered = 0
    /// Whether the first outstanding answer arrives as one result per row.
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

/// The number of rows that each statement of a batch changed.
final class Tally {
    var counts: [Int] = []
}
