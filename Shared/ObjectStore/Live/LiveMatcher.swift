import ParseProtocol

/// The subscriptions of a service, and who of them is told what of a change. Pure but for the clock: it belongs to one
/// thread.
///
/// Each distinct condition is decided once for a change, whoever has it; each form in which the object is shown is made
/// once. ACL, class permissions, roles and protected fields are those of the moment of the change.
package final class LiveMatcher {
    /// Somebody who subscribes.
    package struct Subscriber: Sendable {
        package let id: UInt64
        package let caller: Caller
        /// By whom the time is counted that its condition takes; 0 for nobody.
        package let client: Int

        package init(id: UInt64, caller: Caller, client: Int) {
            self.id = id
            self.caller = caller
            self.client = client
        }
    }

    private var classes: [String: [[UInt8]: LiveGroup]] = [:]
    private var queries: [UInt64: LiveQuery] = [:]
    private var budget = LiveBudget()
    private let clock: () -> Int64

    /// - Parameter clock: nanoseconds of a clock that nobody sets.
    package init(clock: @escaping () -> Int64) { self.clock = clock }

    /// The classes that somebody subscribes to.
    package var classNames: Set<String> { Set(classes.keys) }
    package var count: Int { queries.count }

    /// - Throws: `.invalidQuery` (102) and others for a condition that cannot be live.
    package func add(_ subscriber: Subscriber, to query: LiveQuery) throws {
        remove(subscriber.id)
        let group = try classes[query.className]?[query.condition] ?? LiveGroup(query.condition)
        group.add(subscriber, to: query)
        classes[query.className, default: [:]][query.condition] = group
        queries[subscriber.id] = query
    }

    package func remove(_ id: UInt64) {
        guard let query = queries.removeValue(forKey: id), let group = classes[query.className]?[query.condition] else {
            return
        }
        group.remove(id, from: query)
        guard group.isEmpty else { return }
        classes[query.className]?[query.condition] = nil
        if classes[query.className]?.isEmpty == true { classes[query.className] = nil }
    }

    /// The class of a subscription; nil when it is not there.
    package func className(of id: UInt64) -> String? { queries[id]?.className }

    package func removeAll() {
        classes = [:]
        queries = [:]
    }

    /// - Parameter id: the only subscription that is asked for; nil for all.
    package func outcome(of change: StoredChange, for id: UInt64? = nil) -> LiveOutcome {
        var outcome = LiveOutcome()
        guard let groups = classes[change.className] else { return outcome }
        let showing = LiveShowing(change)
        if let id {
            guard let query = queries[id] else { return outcome }
            groups[query.condition]?.match(showing, only: id, &outcome)
        } else {
            for group in groups.values {
                let start = clock()
                group.match(showing, only: nil, &outcome)
                let now = clock()
                let overdrawn = budget.charge(now - start, to: group.clients, at: now)
                if !overdrawn.isEmpty {
                    outcome.ended.append((group.ids(of: overdrawn), LiveBudget.error))
                }
            }
        }
        for (ids, _) in outcome.ended { ids.forEach(remove) }
        return outcome
    }
}

/// The processor time that conditions of subscriptions may take, by client: what they cost is shared by all who have
/// the same.
struct LiveBudget {
    /// Microseconds at once, and the time in which they come back: a fiftieth of a processor for each client.
    private static let microsecondsMax = 100_000
    private static let window = Duration.seconds(5)
    /// Cheaper than this a look costs less than the counting.
    private static let countedFrom: Int64 = 20_000

    static let error = ParseError(
        .inefficientQuery, "The query takes too long to be matched with each change; use a simpler one.")

    private var buckets = RateBuckets(count: microsecondsMax, window: window)

    /// - Returns: the clients that have spent theirs.
    mutating func charge(_ nanoseconds: Int64, to clients: Set<Int>, at now: Int64) -> Set<Int> {
        guard nanoseconds >= Self.countedFrom, !clients.isEmpty else { return [] }
        let share = Int(nanoseconds / 1000) / clients.count
        guard share > 0 else { return [] }
        var overdrawn: Set<Int> = []
        for client in clients where client != 0 {
            if buckets.wait(for: client, tokens: share, at: now) > 0 {
                overdrawn.insert(client)
            } else {
                buckets.take(from: client, tokens: share, at: now)
            }
        }
        return overdrawn
    }
}
