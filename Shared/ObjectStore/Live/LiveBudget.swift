import ParseProtocol

/// The processor time that conditions of subscriptions may take, by client: what they cost is shared by all who have
/// the same.
struct LiveBudget {
    /// Microseconds at once, and the time in which they come back: a fiftieth of a processor for each client.
    private static let microsecondsMax = 100_000
    private static let window = Duration.seconds(5)

    static let error = ParseError(
        .inefficientQuery, "The query takes too long to be matched with each change; use a simpler one.")

    private var buckets = RateBuckets(count: microsecondsMax, window: window)

    /// Whether a client has some left; 0 is nobody, who needs none.
    func hasSome(_ client: Int, at now: Int64) -> Bool { client == 0 || buckets.wait(for: client, at: now) == 0 }

    /// - Returns: the clients that have spent theirs. They have none until it has come back, so that who comes again at
    ///   once does not begin anew.
    mutating func charge(_ nanoseconds: Int64, to clients: Set<Int>, at now: Int64) -> Set<Int> {
        guard !clients.isEmpty else { return [] }
        let share = min(Int(nanoseconds / 1000) / clients.count, Self.microsecondsMax)
        guard share > 0 else { return [] }
        var overdrawn: Set<Int> = []
        for client in clients where client != 0 {
            if buckets.wait(for: client, tokens: share, at: now) > 0 { overdrawn.insert(client) }
            // More than there is left empties the bucket.
            buckets.take(from: client, tokens: share, at: now)
        }
        return overdrawn
    }
}

/// The work of one look at a document, which a client's patterns and an object full of texts could make one of minutes.
/// It belongs to one thread.
final class LiveEffort {
    /// Nanoseconds of one condition and both sides of a change: a find has seconds, but for itself alone.
    static let nanosecondsMax: Int64 = 50_000_000
    /// Units of work between two looks at the clock, at most some milliseconds.
    private static let interval = 1024
    /// A test by itself, beside the elements that it looks at.
    static let test = 64
    /// One pattern and one text.
    static let pattern = 256

    private let clock: () -> Int64
    private var start: Int64 = 0
    private var units = 0
    private(set) var isExhausted = false

    /// - Parameter clock: nanoseconds, of the processor where there are other threads.
    init(clock: @escaping () -> Int64) { self.clock = clock }

    func begin() {
        start = clock()
        units = 0
        isExhausted = false
    }

    /// Nanoseconds since the beginning.
    var used: Int64 { clock() - start }

    /// Counts work before it is done.
    /// - Returns: false when there was too much, and what is decided from then on means nothing.
    func spend(_ count: Int) -> Bool {
        guard !isExhausted else { return false }
        units += count
        guard units >= Self.interval else { return true }
        units = 0
        isExhausted = used > Self.nanosecondsMax
        return !isExhausted
    }
}
