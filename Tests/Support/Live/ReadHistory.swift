import Synchronization

/// A history of registers whose versions only grow, and the check that it is linearizable (Herlihy and Wing,
/// "Linearizability", 1990).
///
/// Each register has one writer, which writes 1, 2, 3… and starts each write after the previous one was acknowledged.
/// For such registers the check is exact and needs no search. A read must not return a version older than one that was
/// acknowledged or returned before the read began. It must not return a version whose write had not begun.
package struct ReadHistory: Sendable {
    /// A moment of any monotonic clock.
    package typealias Moment = Int64

    /// A read or a write, from its beginning to its end.
    package struct Operation: Sendable {
        package let register: String
        package let version: Int64
        package let isWrite: Bool
        package let begin: Moment
        /// Nil for a write with an unknown outcome.
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

    /// The first reads that no order explains, as text; empty when the history is linearizable.
    package var violations: [String] {
        Dictionary(grouping: operations, by: \.register).values.flatMap(Self.violations).sorted()
    }

    private static func violations(of operations: [Operation]) -> [String] {
        let ended = operations.filter { $0.end != nil }.sorted { ($0.end ?? 0) < ($1.end ?? 0) }
        // When the write of each version began.
        let begun = Dictionary(operations.filter(\.isWrite).map { ($0.version, $0.begin) }, uniquingKeysWith: min)
        var (nextEnded, known) = (0, Int64(0))
        var found: [String] = []
        // In the order of their beginnings, the set of operations that ended before each read only grows.
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

/// A history that concurrent tasks record, with this process's monotonic clock.
package final class ReadHistoryRecorder: Sendable {
    private let history = Mutex(ReadHistory())
    private let start = ContinuousClock.now

    package init() {}

    /// The history so far.
    package var recorded: ReadHistory { history.withLock { $0 } }

    /// The time since the recorder was created.
    package var now: ReadHistory.Moment {
        let time = (ContinuousClock.now - start).components
        return time.seconds * 1_000_000_000 + time.attoseconds / 1_000_000_000
    }

    /// Records operations that began at `begin` and ended now.
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
