import Synchronization

/// The client queries that ran quickly on the store's reader threads. A lane that accepts only quick queries looks up
/// here the queries that it has not run. Without this, a quick query would wait with the costly ones.
final class QuickQueries: Sendable {
    /// Nanoseconds of processor time up to which a read is quick: half the slice that a lane gives it.
    static let quick: UInt64 = 2_500_000
    /// Quick runs in a row that make a query known.
    private static let runsMin = 3
    /// Clients choose the shapes of queries, so the table has a limit, of about 2 MB.
    private static let countMax = 1024

    private let runs = Mutex<[String: Int]>([:])

    /// Whether the last runs of the query were quick.
    func knows(_ sql: String) -> Bool { runs.withLock { $0[sql] ?? 0 >= Self.runsMin } }

    /// Records the queries of one read.
    func ran(_ queries: [String], quickly: Bool) {
        guard !queries.isEmpty else { return }
        runs.withLock { runs in
            for sql in queries {
                guard quickly else {
                    runs[sql] = nil
                    continue
                }
                if runs[sql] == nil, runs.count >= Self.countMax { Self.makeRoom(in: &runs) }
                runs[sql] = min(Self.runsMin, (runs[sql] ?? 0) + 1)
            }
        }
    }

    /// Drops the queries with fewer than three quick runs. If more than half of the table remains, drops everything.
    private static func makeRoom(in runs: inout [String: Int]) {
        runs = runs.filter { $0.value >= runsMin }
        if runs.count > countMax / 2 { runs = [:] }
    }
}
