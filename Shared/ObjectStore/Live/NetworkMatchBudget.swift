import ParseProtocol

/// The processor time that matching uses for each network; part of `LiveMatcher`. A network that has spent its budget
/// is late: its changes are matched after all other networks', when the thread is otherwise idle. Does no I/O.
struct NetworkMatchBudget {
    /// Burst in microseconds of a near network, and the time in which it refills: a tenth of a processor.
    private static let microsecondsMax = 200_000
    private static let window = Duration.seconds(2)

    private var near = RateBuckets(count: microsecondsMax, window: window)
    private var wide = RateBuckets(count: microsecondsMax * ClientNetwork.wideFactor, window: window)
    /// Recent use, by which the next late network is chosen.
    private var use = NetworkUse()

    func isSpent(_ network: ClientNetwork, at now: Int64) -> Bool {
        near.wait(for: network.near.hashValue, at: now) > 0 || wide.wait(for: network.wide.hashValue, at: now) > 0
    }

    mutating func charge(_ nanoseconds: Int64, to network: ClientNetwork, at now: Int64) {
        let microseconds = Int(nanoseconds / 1000)
        guard microseconds > 0 else { return }
        near.take(from: network.near.hashValue, tokens: microseconds, at: now)
        wide.take(from: network.wide.hashValue, tokens: microseconds, at: now)
        use.add(UInt64(nanoseconds), to: network, at: UInt64(max(0, now)))
    }

    func amount(of network: ClientNetwork, at now: Int64) -> Double {
        use.amount(of: network, at: UInt64(max(0, now)))
    }
}

/// The subscriptions of a group that a change is matched for.
enum LiveAudience {
    case one(UInt64)
    /// All except subscriptions of late networks.
    case prompt(late: Set<ClientNetwork>)
    /// Subscriptions of one late network that began before the change with this position.
    case late(ClientNetwork, at: UInt64)
}
