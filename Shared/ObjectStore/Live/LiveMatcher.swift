import ParseProtocol

/// The subscriptions of a service; decides which of them get which event for a change. Does no I/O except reading the
/// clock; belongs to one thread.
///
/// A change evaluates each distinct condition once, for all its subscribers, and builds each form of the object once.
/// ACL, class permissions, roles and protected fields are those at the time of the change.
package final class LiveMatcher {
    /// A subscriber.
    package struct Subscriber: Sendable {
        package let id: UInt64
        package let caller: Caller
        /// The client that the condition's processor time is charged to; 0 for none.
        package let client: Int
        /// The client's network, which is charged too; nil for the operator.
        package let network: ClientNetwork?
        /// The number of the last change before the subscription began.
        package let start: UInt64

        package init(id: UInt64, caller: Caller, client: Int, network: ClientNetwork? = nil, start: UInt64 = 0) {
            self.id = id
            self.caller = caller
            self.client = client
            self.network = network
            self.start = start
        }
    }

    private var classes: [String: LiveConditions] = [:]
    private var queries: [UInt64: (query: LiveQuery, subscriber: Subscriber)] = [:]
    private var shares = SubscriptionLimits()
    private var budget = LiveBudget()
    private var work = NetworkMatchBudget()
    /// Networks that were charged since the last `takeSpent`.
    private var charged: Set<ClientNetwork> = []
    private let effort: MatchBudget
    private let clock: () -> Int64

    /// - Parameters:
    ///   - clock: nanoseconds of a monotonic clock.
    ///   - processor: nanoseconds of processor time of this thread; nil to use the clock.
    package init(clock: @escaping () -> Int64, processor: (() -> Int64)? = nil) {
        self.clock = clock
        effort = MatchBudget(clock: processor ?? clock)
    }

    /// The classes with subscriptions.
    package var classNames: Set<String> { Set(classes.keys) }
    /// Whether a class has subscriptions.
    package func hasClass(_ className: String) -> Bool { classes[className] != nil }
    package var count: Int { queries.count }

    /// Adds a subscription.
    /// - Throws: `.invalidQuery` (102) and others for a condition that cannot be live, `.requestLimitExceeded` (155)
    ///   when there are too many.
    package func add(_ subscriber: Subscriber, to query: LiveQuery) throws {
        remove(subscriber.id)
        let group = try classes[query.className]?.all[query.condition] ?? LiveGroup(query.condition)
        try shares.enter(subscriber.client, at: subscriber.network, query)
        group.add(subscriber, to: query)
        classes[query.className, default: LiveConditions()].add(group, query.condition, of: subscriber.network)
        queries[subscriber.id] = (query, subscriber)
    }

    /// - Throws: `.inefficientQuery` (154) for a client that has spent its budget.
    package func checkBudget(of client: Int) throws {
        guard budget.hasSome(client, at: clock()) else { throw LiveBudget.error }
    }

    package func remove(_ id: UInt64) {
        guard let (query, subscriber) = queries.removeValue(forKey: id) else { return }
        shares.leave(subscriber.client, at: subscriber.network, query)
        guard let group = classes[query.className]?.all[query.condition] else { return }
        group.remove(id, from: query)
        guard !group.has(subscriber.network) else { return }
        classes[query.className]?.remove(group, query.condition, of: subscriber.network)
        if classes[query.className]?.all.isEmpty == true { classes[query.className] = nil }
    }

    package func subscriber(_ id: UInt64) -> Subscriber? { queries[id]?.subscriber }

    /// The subscriptions of a network.
    package func ids(of network: ClientNetwork) -> [UInt64] {
        queries.values.filter { $0.subscriber.network == network }.map { $0.subscriber.id }
    }

    /// Whether a network has spent its budget of processor time.
    package func isSpent(_ network: ClientNetwork) -> Bool { work.isSpent(network, at: clock()) }

    /// The networks that have spent their budget since the last call.
    package func takeSpent() -> [ClientNetwork] {
        guard !charged.isEmpty else { return [] }
        defer { charged = [] }
        return Array(charged.filter(isSpent))
    }

    /// The network with the least recent use.
    package func modest(among networks: some Sequence<ClientNetwork>) -> ClientNetwork? {
        let now = clock()
        return networks.min { work.amount(of: $0, at: now) < work.amount(of: $1, at: now) }
    }

    /// The class of a subscription; nil for an unknown one.
    package func className(of id: UInt64) -> String? { queries[id]?.query.className }

    /// Removes all subscriptions for which `isGone` is true.
    package func remove(where isGone: (UInt64) -> Bool) {
        for id in queries.keys where isGone(id) { remove(id) }
    }

    package func removeAll() {
        classes = [:]
        queries = [:]
        shares = SubscriptionLimits()
    }

    /// Matches a change.
    /// - Parameters:
    ///   - id: the only subscription to match; nil for all.
    ///   - late: networks whose subscriptions are skipped.
    package func outcome(
        of change: StoredChange, for id: UInt64? = nil, late: Set<ClientNetwork> = []
    ) -> LiveOutcome {
        var outcome = LiveOutcome()
        guard let conditions = classes[change.className] else { return outcome }
        if let id {
            guard let query = queries[id]?.query, query.className == change.className,
                let group = conditions.all[query.condition]
            else { return outcome }
            match(group, LiveChangeForms(change), for: .one(id), &outcome)
        } else {
            let showing = LiveChangeForms(change)
            for group in conditions.groups(otherThan: late) {
                match(group, showing, for: .prompt(late: late), &outcome)
            }
        }
        for (ids, _) in outcome.ended { ids.forEach(remove) }
        return outcome
    }

    /// Matches a change for a network that was skipped before.
    /// - Parameter position: the number of the change.
    package func outcome(of change: StoredChange, forLate network: ClientNetwork, at position: UInt64) -> LiveOutcome {
        var outcome = LiveOutcome()
        guard let conditions = classes[change.className] else { return outcome }
        let showing = LiveChangeForms(change)
        for group in conditions.groups(of: network) {
            match(group, showing, for: .late(network, at: position), &outcome)
        }
        for (ids, _) in outcome.ended { ids.forEach(remove) }
        return outcome
    }

    private func match(
        _ group: LiveGroup, _ showing: LiveChangeForms, for audience: LiveAudience, _ outcome: inout LiveOutcome
    ) {
        effort.begin()
        group.match(showing, for: audience, effort, &outcome)
        let used = effort.used
        charge(used, for: group, audience)
        let client: Int? = if case .one(let id) = audience { queries[id]?.subscriber.client } else { nil }
        guard let cost = group.cost(adding: used, of: client) else { return }
        let clients: Set<Int> = if let client { [client] } else { group.clients(of: audience) }
        let overdrawn = budget.charge(cost, to: clients, at: clock())
        guard !overdrawn.isEmpty else { return }
        let ids: [UInt64] = if case .one(let id) = audience { [id] } else { group.ids(of: overdrawn) }
        outcome.ended.append((ids, LiveBudget.error))
    }

    private func charge(_ nanoseconds: Int64, for group: LiveGroup, _ audience: LiveAudience) {
        switch audience {
        case .one(let id):
            if let network = queries[id]?.subscriber.network { charge(nanoseconds, to: network) }
        case .late(let network, _): charge(nanoseconds, to: network)
        case .prompt(let late):
            guard let share = group.work(adding: nanoseconds) else { return }
            for network in group.networks where !late.contains(network) { charge(share, to: network) }
        }
    }

    private func charge(_ nanoseconds: Int64, to network: ClientNetwork) {
        work.charge(nanoseconds, to: network, at: clock())
        charged.insert(network)
    }
}
