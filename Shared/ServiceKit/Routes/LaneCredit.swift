import ObjectStore
import ParseProtocol

/// Decides which reads a lane tries itself. Has no I/O; times are arguments in nanoseconds.
///
/// A read that overruns its slice wastes the lane's time. The credit limits this waste: a small part of the lane's time
/// for each network, however many accounts it has, and a tenth for all clients together. When a network's credit is
/// exhausted, the lane runs only its reads that are quick by kind and queries that were quick before
/// (`StoreReader.attempt`). Other clients behind the same address can still read objects and pages. The same
/// restriction applies to all clients when the common credit is exhausted, so that a thousand addresses waste no more
/// time than the common credit allows. Without overruns no state is kept.
///
/// This is not a `TokenBucket`: the cost of a try is known only afterwards, so a credit can be overdrawn by any amount.
package struct LaneCredit {
    package enum Way: Equatable {
        /// On the lane, within a slice.
        case lane
        /// On the lane, except for a query that was not quick before.
        case laneIfKnownQuick
    }

    /// Credit of one network: 50 ms, refilled by 5 ms per second.
    private static let clientDepth: UInt64 = 50_000_000
    private static let clientReturn: UInt64 = 200
    /// Common credit: 200 ms, refilled by 100 ms per second.
    private static let commonDepth: UInt64 = 200_000_000
    private static let commonReturn: UInt64 = 10
    /// Limit of entries, about 1 MB. Beyond it all are dropped; the common credit still limits the waste.
    package static let clientsMax = 16_384

    /// The time at which each credit is full again; absent when it is full.
    private var wholeAt: [Holder: UInt64] = [:]
    private var commonWholeAt: UInt64 = 0
    private var nextSweep: UInt64 = 0
    private static let sweepInterval: UInt64 = 1_000_000_000

    private enum Holder: Hashable {
        case network(UInt64)
        case client(WorkClient)

        init(_ client: WorkClient) {
            if case .client(_, let network?) = client { self = .network(network.near) } else { self = .client(client) }
        }
    }

    package init() {}

    /// No recent overrun: every read may be tried.
    package var isUntouched: Bool { wholeAt.isEmpty }
    package var clientCount: Int { wholeAt.count }

    package mutating func way(of client: WorkClient, at now: UInt64) -> Way {
        let holder = Holder(client)
        if let whole = wholeAt[holder] {
            if whole <= now {
                wholeAt[holder] = nil
            } else if whole - now >= Self.clientDepth * Self.clientReturn {
                return .laneIfKnownQuick
            }
        }
        if now >= nextSweep {
            nextSweep = now &+ Self.sweepInterval
            wholeAt = wholeAt.filter { $0.value > now }
        }
        guard commonWholeAt > now else { return .lane }
        return commonWholeAt - now >= Self.commonDepth * Self.commonReturn ? .laneIfKnownQuick : .lane
    }

    /// A read was aborted after `cost` nanoseconds.
    package mutating func overran(_ client: WorkClient, cost: UInt64, at now: UInt64) {
        let holder = Holder(client)
        if wholeAt[holder] == nil, wholeAt.count >= Self.clientsMax { wholeAt = [:] }
        wholeAt[holder] = max(now, wholeAt[holder] ?? 0) &+ cost &* Self.clientReturn
        commonWholeAt = max(now, commonWholeAt) &+ cost &* Self.commonReturn
    }
}
