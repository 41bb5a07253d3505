import ParseProtocol

/// The processor time that the conditions of a client's subscriptions may use. Clients with the same condition share
/// its cost.
struct LiveBudget {
    /// Burst in microseconds, and the time in which it refills: 2 % of a processor for each client.
    private static let microsecondsMax = 100_000
    private static let window = Duration.seconds(5)

    static let error = ParseError(
        .inefficientQuery, "The query takes too long to be matched with each change; use a simpler one.")

    private var buckets = RateBuckets(count: microsecondsMax, window: window)

    /// Whether a client has budget left. Client 0 stands for no client and has no limit.
    func hasSome(_ client: Int, at now: Int64) -> Bool { client == 0 || buckets.wait(for: client, at: now) == 0 }

    /// Charges the clients equally.
    /// - Returns: the clients that have spent their budget. It stays empty until it refills, so a reconnect does not
    ///   reset it.
    mutating func charge(_ nanoseconds: Int64, to clients: Set<Int>, at now: Int64) -> Set<Int> {
        guard !clients.isEmpty else { return [] }
        let share = min(Int(nanoseconds / 1000) / clients.count, Self.microsecondsMax)
        guard share > 0 else { return [] }
        var overdrawn: Set<Int> = []
        for client in clients where client != 0 {
            if buckets.wait(for: client, tokens: share, at: now) > 0 { overdrawn.insert(client) }
            // A charge above the remaining amount empties the bucket.
            buckets.take(from: client, tokens: share, at: now)
        }
        return overdrawn
    }
}

/// The limit on matching one change with one condition: a client's patterns and an object full of texts could otherwise
/// take minutes. It belongs to one thread.
final class MatchBudget {
    /// Limit in nanoseconds for one condition and both sides of a change. A find may take seconds, but delays only
    /// itself.
    static let nanosecondsMax: Int64 = 50_000_000
    /// Units of work between two checks of the clock, at most some milliseconds.
    private static let interval = 1024
    /// Units of a test itself, without the elements that it checks.
    static let test = 64
    /// Units of one pattern on one text.
    static let pattern = 256

    private let clock: () -> Int64
    private var start: Int64 = 0
    private var units = 0
    private(set) var isExhausted = false

    /// - Parameter clock: nanoseconds; processor time where other threads run.
    init(clock: @escaping () -> Int64) { self.clock = clock }

    func begin() {
        start = clock()
        units = 0
        isExhausted = false
    }

    /// For checks inside one unit of work.
    var isOver: Bool { !spend(Self.interval) }

    /// Nanoseconds since `begin`.
    var used: Int64 { clock() - start }

    /// Counts work before it is done.
    /// - Returns: false when the limit is exceeded; results are meaningless from then on.
    func spend(_ count: Int) -> Bool {
        guard !isExhausted else { return false }
        units += count
        guard units >= Self.interval else { return true }
        units = 0
        isExhausted = used > Self.nanosecondsMax
        return !isExhausted
    }
}
