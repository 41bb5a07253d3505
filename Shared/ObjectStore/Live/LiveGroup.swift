import ParseProtocol

/// The subscriptions with one condition.
final class LiveGroup {
    /// Subscriptions with the same query and different callers.
    private struct View {
        var ids: [Caller: Set<UInt64>] = [:]
    }

    private struct Compiled {
        let test: LiveCondition
        let roots: Set<String>
    }

    /// As text, which uses the least memory; parsed again when the class changes.
    private let condition: [UInt8]
    private let namesOne: Bool
    private var views: [LiveQuery: View] = [:]
    private var subscribers: [UInt64: LiveMatcher.Subscriber] = [:]
    private var clientCounts: [Int: Int] = [:]
    private var networkCounts: [ClientNetwork: Int] = [:]
    /// The number of subscriptions that no network is charged for.
    private var freeCount = 0
    /// The condition compiled for the last seen version of the class, and the fields that it reads.
    private var compiled: (generation: Int64, result: Result<Compiled, ParseError>)?
    /// Nanoseconds not yet charged to clients.
    private var uncharged: Int64 = 0
    /// Nanoseconds not yet charged to networks.
    private var unchargedWork: Int64 = 0
    /// Minimum nanoseconds per network to charge: smaller amounts cost less than the accounting.
    private static let workChargedFrom: Int64 = 5_000

    /// Nanoseconds of a match that are free. The limit on subscriptions bounds such cheap matches, and one client can
    /// stand for many guests.
    private static let free: Int64 = 5_000
    /// Minimum nanoseconds per client to charge: smaller amounts cost less than the accounting.
    private static let chargedFrom: Int64 = 20_000

    init(_ condition: [UInt8]) throws {
        self.condition = condition
        namesOne = Query.namesOneObject(try JSON(parsing: condition))
    }

    var isEmpty: Bool { subscribers.isEmpty }
    var networks: some Sequence<ClientNetwork> { networkCounts.keys }

    /// - Parameter network: nil for subscriptions that no network is charged for.
    func has(_ network: ClientNetwork?) -> Bool { network.map { networkCounts[$0] != nil } ?? (freeCount > 0) }

    func clients(of audience: LiveAudience) -> Set<Int> {
        if case .prompt(let late) = audience, !late.contains(where: has) { return Set(clientCounts.keys) }
        return Set(subscribers.values.filter { isMeant($0, by: audience) }.map(\.client))
    }

    /// Adds the time of a match for all networks that are not late.
    /// - Returns: the amount to charge each of them now; nil for none yet.
    func work(adding nanoseconds: Int64) -> Int64? {
        let count = Int64(networkCounts.count)
        guard count > 0 else { return nil }
        unchargedWork += nanoseconds
        guard unchargedWork >= Self.workChargedFrom * count else { return nil }
        defer { unchargedWork = 0 }
        return unchargedWork / count
    }

    /// Adds the cost of a match.
    /// - Parameter client: the only client that it was for; nil for all clients, which share the cost.
    /// - Returns: the amount to charge now; nil for none yet.
    func cost(adding nanoseconds: Int64, of client: Int?) -> Int64? {
        let cost = max(0, nanoseconds - Self.free)
        guard client == nil else { return cost > 0 ? cost : nil }
        uncharged += cost
        guard uncharged >= Self.chargedFrom * Int64(clientCounts.count) else { return nil }
        defer { uncharged = 0 }
        return uncharged
    }

    func ids(of clients: Set<Int>) -> [UInt64] { subscribers.values.filter { clients.contains($0.client) }.map(\.id) }

    func add(_ subscriber: LiveMatcher.Subscriber, to query: LiveQuery) {
        subscribers[subscriber.id] = subscriber
        clientCounts[subscriber.client, default: 0] += 1
        if let network = subscriber.network { networkCounts[network, default: 0] += 1 } else { freeCount += 1 }
        views[query, default: View()].ids[Self.rights(of: subscriber.caller), default: []].insert(subscriber.id)
    }

    func remove(_ id: UInt64, from query: LiveQuery) {
        guard let subscriber = subscribers.removeValue(forKey: id) else { return }
        let count = clientCounts[subscriber.client, default: 1] - 1
        clientCounts[subscriber.client] = count > 0 ? count : nil
        if let network = subscriber.network {
            let count = networkCounts[network, default: 1] - 1
            networkCounts[network] = count > 0 ? count : nil
        } else {
            freeCount -= 1
        }
        let rights = Self.rights(of: subscriber.caller)
        views[query]?.ids[rights]?.remove(id)
        if views[query]?.ids[rights]?.isEmpty == true { views[query]?.ids[rights] = nil }
        if views[query]?.ids.isEmpty == true { views[query] = nil }
    }

    /// The caller reduced to its rights to objects, so that callers with equal rights are equal.
    private static func rights(of caller: Caller) -> Caller {
        caller.isMaster ? .master : Caller(userId: caller.userId, roles: caller.roles.sorted())
    }

    func match(
        _ showing: LiveChangeForms, for audience: LiveAudience, _ effort: MatchBudget, _ outcome: inout LiveOutcome
    ) {
        let compiled: Compiled
        switch compile(showing.change) {
        case .success(let condition): compiled = condition
        case .failure(let error): return end(audience, error, &outcome)
        }
        let (test, roots) = (compiled.test, compiled.roots)
        // Conditions on hidden fields are not evaluated for a subscriber: the end of the subscription must not reveal
        // whether the object matches.
        guard showing.mayAllAsk || mayAnyQuery(showing, roots, audience, &outcome) else { return }
        let before = showing.before.map { test.holds(for: $0.stored.fields, effort) }
        let after = showing.after.map { test.holds(for: $0.stored.fields, effort) }
        guard !effort.isExhausted else { return end(audience, LiveBudget.error, &outcome) }
        guard before == true || after == true else { return }
        var events = LiveEvents()
        let over = Set(outcome.ended.flatMap(\.ids))
        for (query, view) in views {
            let asked = Self.asked(query, roots)
            let hasChanged = query.watch.isEmpty || showing.hasChanged(query.watch)
            if showing.isForAll {
                let ids = view.ids.values.reduce(into: Set()) { $0.formUnion($1) }
                guard let wanted = wanted(ids, audience), let kind = LiveEvent.Kind(before: before, after: after),
                    hasChanged || ![.create, .update].contains(kind)
                else { continue }
                events.add(kind, showing.shown(kind, query.keys, .anonymous, (true, true)), hidden: [], wanted)
                continue
            }
            for (caller, ids) in view.ids {
                guard let wanted = wanted(ids, audience), over.isDisjoint(with: wanted) else { continue }
                do {
                    let rights = try LiveRights(caller, showing.change.info, asked: asked, namesOne: namesOne)
                    let readable = (before: rights.mayRead(showing.before), after: rights.mayRead(showing.after))
                    guard
                        let kind = LiveEvent.Kind(
                            before: before.map { $0 && readable.before }, after: after.map { $0 && readable.after }),
                        hasChanged || ![.create, .update].contains(kind)
                    else { continue }
                    events.add(
                        kind, showing.shown(kind, query.keys, caller, readable), hidden: showing.hidden(from: caller),
                        wanted)
                } catch {
                    outcome.ended.append((Array(wanted), error as? ParseError ?? .internalError))
                }
            }
        }
        outcome.events += events.all
    }

    private func end(_ audience: LiveAudience, _ error: ParseError, _ outcome: inout LiveOutcome) {
        outcome.ended.append((subscribers.values.filter { isMeant($0, by: audience) }.map(\.id), error))
    }

    private static func asked(_ query: LiveQuery, _ roots: Set<String>) -> Set<String> {
        roots.union(query.watch.compactMap { try? FieldPath(inMemory: $0).root })
    }

    /// Ends the subscriptions whose callers may no longer use these fields in queries.
    /// - Returns: whether any subscription is left.
    private func mayAnyQuery(
        _ showing: LiveChangeForms, _ roots: Set<String>, _ audience: LiveAudience, _ outcome: inout LiveOutcome
    ) -> Bool {
        var isOneLeft = false
        for (query, view) in views {
            let asked = Self.asked(query, roots)
            for (caller, ids) in view.ids {
                guard let wanted = wanted(ids, audience) else { continue }
                do {
                    _ = try LiveRights(caller, showing.change.info, asked: asked, namesOne: namesOne)
                    isOneLeft = true
                } catch {
                    outcome.ended.append((Array(wanted), error as? ParseError ?? .internalError))
                }
            }
        }
        return isOneLeft
    }

    /// The subset of the subscriptions in the audience; nil if empty.
    private func wanted(_ ids: Set<UInt64>, _ audience: LiveAudience) -> Set<UInt64>? {
        switch audience {
        case .one(let id): return ids.contains(id) ? [id] : nil
        case .prompt(let late) where !late.contains(where: has): return ids
        case .prompt, .late:
            let wanted = ids.filter { subscribers[$0].map { isMeant($0, by: audience) } ?? false }
            return wanted.isEmpty ? nil : wanted
        }
    }

    private func isMeant(_ subscriber: LiveMatcher.Subscriber, by audience: LiveAudience) -> Bool {
        switch audience {
        case .one(let id): subscriber.id == id
        case .prompt(let late): subscriber.network.map { !late.contains($0) } ?? true
        case .late(let network, let position): subscriber.network == network && subscriber.start < position
        }
    }

    private func compile(_ change: StoredChange) -> Result<Compiled, ParseError> {
        if let compiled, compiled.generation == change.generation { return compiled.result }
        let result: Result<Compiled, ParseError>
        do {
            let test = try LiveCondition(JSON(parsing: condition), of: change.info)
            result = .success(Compiled(test: test, roots: test.roots))
        } catch {
            result = .failure(error as? ParseError ?? .internalError)
        }
        compiled = (change.generation, result)
        return result
    }
}

/// Events of one condition, grouped by equal content.
private struct LiveEvents {
    private struct Content: Hashable {
        let kind: LiveEvent.Kind
        let object: [UInt8]
        let original: [UInt8]?
        let hidden: [String]
    }

    private var ids: [Content: Set<UInt64>] = [:]

    mutating func add(
        _ kind: LiveEvent.Kind, _ shown: (object: [UInt8], original: [UInt8]?), hidden: [String], _ ids: Set<UInt64>
    ) {
        let content = Content(kind: kind, object: shown.object, original: shown.original, hidden: hidden)
        self.ids[content, default: []].formUnion(ids)
    }

    var all: [LiveEvent] {
        ids.map {
            LiveEvent(
                kind: $0.kind, ids: Array($1), object: $0.object, original: $0.original, hidden: $0.hidden)
        }
    }
}
