import ObjectStore

/// Decides which reads a lane tries itself: without I/O, time is an argument in nanoseconds.
///
/// A read that overruns its slice costs the lane that slice for nothing. Each client may cost a lane a little of its
/// time so, and all together a tenth. Of whose credit is used up the lane takes only what is quick by its kind, and
/// queries that were quick before (`StoreReader.attempt`): others behind the same address go on reading objects and
/// pages. The same goes for all when the common credit is used up, so that a thousand addresses can take no more than
/// one can. While nobody overruns nothing is kept, and nothing is asked but whether that is so.
///
/// This is no `TokenBucket`: what a try costs is known after it, so that a credit is overdrawn by as much as it cost,
/// however much that is, and nothing is ever refused to be taken.
package struct LaneCredit {
    package enum Way: Equatable {
        /// On the lane, for a slice.
        case lane
        /// On the lane, unless it is a query that was not quick before.
        case laneIfProven
    }

    /// One client: 50 ms, which come back at 5 ms a second.
    private static let clientDepth: UInt64 = 50_000_000
    private static let clientReturn: UInt64 = 200
    /// All together: 200 ms, which come back at 100 ms a second.
    private static let commonDepth: UInt64 = 200_000_000
    private static let commonReturn: UInt64 = 10
    /// About 1 MB. A flood of addresses makes room by forgetting them, since the common credit bounds them all the
    /// same.
    package static let clientsMax = 16_384

    /// The moment at which each credit is whole again; absent when it is.
    private var wholeAt: [WorkClient: UInt64] = [:]
    private var commonWholeAt: UInt64 = 0
    private var nextSweep: UInt64 = 0
    private static let sweepInterval: UInt64 = 1_000_000_000

    package init() {}

    /// Nobody overran lately: each read may be tried.
    package var isUntouched: Bool { wholeAt.isEmpty }
    package var clientCount: Int { wholeAt.count }

    package mutating func way(of client: WorkClient, at now: UInt64) -> Way {
        if let whole = wholeAt[client] {
            if whole <= now {
                wholeAt[client] = nil
            } else if whole - now >= Self.clientDepth * Self.clientReturn {
                return .laneIfProven
            }
        }
        if now >= nextSweep {
            nextSweep = now &+ Self.sweepInterval
            wholeAt = wholeAt.filter { $0.value > now }
        }
        guard commonWholeAt > now else { return .lane }
        return commonWholeAt - now >= Self.commonDepth * Self.commonReturn ? .laneIfProven : .lane
    }

    /// A read was tried in vain for so many nanoseconds.
    package mutating func overran(_ client: WorkClient, cost: UInt64, at now: UInt64) {
        if wholeAt[client] == nil, wholeAt.count >= Self.clientsMax { wholeAt = [:] }
        wholeAt[client] = max(now, wholeAt[client] ?? 0) &+ cost &* Self.clientReturn
        commonWholeAt = max(now, commonWholeAt) &+ cost &* Self.commonReturn
    }
}
