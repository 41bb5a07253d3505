import Synchronization

/// A history of registers whose versions only grow, and the check that everybody saw them in one order (Herlihy and
/// Wing, "Linearizability", 1990).
///
/// Each register has one writer, who writes 1, 2, 3… and each only after the one before was acknowledged. For such
/// registers the check is exact and needs no search: a read may bring no version older than one that was acknowledged,
/// or that another read had brought, before it began, and none that nobody had begun to write.
package struct ReadHistory: Sendable {
    /// A moment of any clock that never goes back.
    package typealias Moment = Int64

    /// A read or a write from its begin to its end.
    package struct Operation: Sendable {
        package let register: String
        package let version: Int64
        package let isWrite: Bool
        package let begin: Moment
        /// Nil for a write of which nobody knows whether it was carried out.
        package let end: Moment?

        package init(_ register: String, version: Int64, isWrite: Bool, begin: Moment, end: Moment?) {
            self.register = register
            self.version = version
            self.isWrite = isWrite
            self.begin = begin
            self.end = end
        }
    }

    package var operations: [Operation] = []

    package init(_ operations: [Operation] = []) { self.operations = operations }

    /// The first reads that no order explains, in words; empty when there is one that explains all.
    package var violations: [String] {
        Dictionary(grouping: operations, by: \.register).values.flatMap(Self.violations).sorted()
    }

    private static func violations(of operations: [Operation]) -> [String] {
        let ended = operations.filter { $0.end != nil }.sorted { ($0.end ?? 0) < ($1.end ?? 0) }
        // When each version was first being written.
        let begun = Dictionary(operations.filter(\.isWrite).map { ($0.version, $0.begin) }, uniquingKeysWith: min)
        var (nextEnded, known) = (0, Int64(0))
        var found: [String] = []
        // In the order of their begins, what has ended before each is more and more.
        for read in operations.filter({ !$0.isWrite }).sorted(by: { $0.begin < $1.begin }) {
            while nextEnded < ended.count, let end = ended[nextEnded].end, end < read.begin {
                known = max(known, ended[nextEnded].version)
                nextEnded += 1
            }
            if read.version < known {
                found.append(
                    "\(read.register): version \(read.version) was read from \(read.begin) on, \(known) was known.")
            }
            if read.version > 0, begun[read.version] ?? .max >= read.end ?? .max {
                found.append("\(read.register): version \(read.version) was read before anybody wrote it.")
            }
        }
        return Array(found.prefix(5))
    }
}

/// A history that tasks write together, by this process's monotonic clock.
package final class ReadHistoryRecorder: Sendable {
    private let history = Mutex(ReadHistory())
    private let start = ContinuousClock.now

    package init() {}

    /// What was recorded so far.
    package var recorded: ReadHistory { history.withLock { $0 } }

    /// The time since the beginning.
    package var now: ReadHistory.Moment {
        let time = (ContinuousClock.now - start).components
        return time.seconds * 1_000_000_000 + time.attoseconds / 1_000_000_000
    }

    /// Records operations that began at `begin` and ended just now.
    package func ended(_ versions: [String: Int64], isWrite: Bool, begin: ReadHistory.Moment) {
        let end = now
        history.withLock { history in
            for (register, version) in versions {
                history.operations.append(
                    ReadHistory.Operation(register, version: version, isWrite: isWrite, begin: begin, end: end))
            }
        }
    }
}
