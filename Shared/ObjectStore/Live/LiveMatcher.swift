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
    private var queries: [UInt64: (query: LiveQuery, client: Int)] = [:]
    private var shares = LiveShares()
    private var budget = LiveBudget()
    private let effort: LiveEffort
    private let clock: () -> Int64

    /// - Parameters:
    ///   - clock: nanoseconds of a clock that nobody sets.
    ///   - processor: nanoseconds that this thread has had of a processor; nil for those of the clock.
    package init(clock: @escaping () -> Int64, processor: (() -> Int64)? = nil) {
        self.clock = clock
        effort = LiveEffort(clock: processor ?? clock)
    }

    /// The classes that somebody subscribes to.
    package var classNames: Set<String> { Set(classes.keys) }
    /// Whether somebody subscribes to a class.
    package func hasClass(_ className: String) -> Bool { classes[className] != nil }
    package var count: Int { queries.count }

    /// - Throws: `.invalidQuery` (102) and others for a condition that cannot be live, `.requestLimitExceeded` (155)
    ///   when there are too many.
    package func add(_ subscriber: Subscriber, to query: LiveQuery) throws {
        remove(subscriber.id)
        let group = try classes[query.className]?[query.condition] ?? LiveGroup(query.condition)
        try shares.enter(subscriber.client, query)
        group.add(subscriber, to: query)
        classes[query.className, default: [:]][query.condition] = group
        queries[subscriber.id] = (query, subscriber.client)
    }

    /// - Throws: `.inefficientQuery` (154) for a client that has spent its time.
    package func checkBudget(of client: Int) throws {
        guard budget.hasSome(client, at: clock()) else { throw LiveBudget.error }
    }

    package func remove(_ id: UInt64) {
        guard let (query, client) = queries.removeValue(forKey: id) else { return }
        shares.leave(client, query)
        guard let group = classes[query.className]?[query.condition] else { return }
        group.remove(id, from: query)
        guard group.isEmpty else { return }
        classes[query.className]?[query.condition] = nil
        if classes[query.className]?.isEmpty == true { classes[query.className] = nil }
    }

    /// The class of a subscription; nil when it is not there.
    package func className(of id: UInt64) -> String? { queries[id]?.query.className }

    /// Removes all subscriptions of which `isGone` says so.
    package func remove(where isGone: (UInt64) -> Bool) {
        for id in queries.keys where isGone(id) { remove(id) }
    }

    package func removeAll() {
        classes = [:]
        queries = [:]
        shares = LiveShares()
    }

    /// - Parameter id: the only subscription that is asked for; nil for all.
    package func outcome(of change: StoredChange, for id: UInt64? = nil) -> LiveOutcome {
        var outcome = LiveOutcome()
        guard let groups = classes[change.className] else { return outcome }
        if let id {
            guard let query = queries[id]?.query, query.className == change.className,
                let group = groups[query.condition]
            else { return outcome }
            match(group, LiveShowing(change), only: id, &outcome)
        } else {
            let showing = LiveShowing(change)
            for group in groups.values { match(group, showing, only: nil, &outcome) }
        }
        for (ids, _) in outcome.ended { ids.forEach(remove) }
        return outcome
    }

    private func match(_ group: LiveGroup, _ showing: LiveShowing, only id: UInt64?, _ outcome: inout LiveOutcome) {
        effort.begin()
        group.match(showing, only: id, effort, &outcome)
        let client = id.flatMap { queries[$0]?.client }
        guard let cost = group.cost(adding: effort.used, of: client) else { return }
        let clients: Set<Int> = if let client { [client] } else { group.clients }
        let overdrawn = budget.charge(cost, to: clients, at: clock())
        guard !overdrawn.isEmpty else { return }
        outcome.ended.append((id.map { [$0] } ?? group.ids(of: overdrawn), LiveBudget.error))
    }
}
