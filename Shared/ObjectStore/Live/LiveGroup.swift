import ParseProtocol

/// The subscriptions with one condition.
final class LiveGroup {
    /// Subscriptions that differ in who has them only.
    private struct View {
        var ids: [Caller: Set<UInt64>] = [:]
    }

    private struct Compiled {
        let test: LiveCondition
        let roots: Set<String>
    }

    /// As text, which takes the least room; it is read when the class is another.
    private let condition: [UInt8]
    private let namesOne: Bool
    private var views: [LiveQuery: View] = [:]
    private var subscribers: [UInt64: LiveMatcher.Subscriber] = [:]
    private var clientCounts: [Int: Int] = [:]
    /// The condition for a class as it was last seen, and the fields that it asks about.
    private var compiled: (generation: Int64, result: Result<Compiled, ParseError>)?
    /// Nanoseconds that were not charged yet.
    private var uncharged: Int64 = 0

    /// Nanoseconds of a look that are free: what is as cheap as that is bounded by the number of subscriptions, and
    /// many guests may be one client.
    private static let free: Int64 = 5_000
    /// Cheaper than this for each client looks cost less than the counting.
    private static let chargedFrom: Int64 = 20_000

    init(_ condition: [UInt8]) throws {
        self.condition = condition
        namesOne = Query.namesOneObject(try JSON(parsing: condition))
    }

    var isEmpty: Bool { subscribers.isEmpty }
    var clients: Set<Int> { Set(clientCounts.keys) }

    /// Counts what a look has cost.
    /// - Parameter client: who alone was looked for; nil for all, who share it.
    /// - Returns: what is to be charged now, if anything.
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
        views[query, default: View()].ids[Self.rights(of: subscriber.caller), default: []].insert(subscriber.id)
    }

    func remove(_ id: UInt64, from query: LiveQuery) {
        guard let subscriber = subscribers.removeValue(forKey: id) else { return }
        let count = clientCounts[subscriber.client, default: 1] - 1
        clientCounts[subscriber.client] = count > 0 ? count : nil
        let rights = Self.rights(of: subscriber.caller)
        views[query]?.ids[rights]?.remove(id)
        if views[query]?.ids[rights]?.isEmpty == true { views[query]?.ids[rights] = nil }
        if views[query]?.ids.isEmpty == true { views[query] = nil }
    }

    /// The caller without what gives no right to objects, so that those with the same rights are one.
    private static func rights(of caller: Caller) -> Caller {
        caller.isMaster ? .master : Caller(userId: caller.userId, roles: caller.roles.sorted())
    }

    func match(_ showing: LiveShowing, only id: UInt64?, _ effort: LiveEffort, _ outcome: inout LiveOutcome) {
        let compiled: Compiled
        switch compile(showing.change) {
        case .success(let condition): compiled = condition
        case .failure(let error): return end(id, error, &outcome)
        }
        let (test, roots) = (compiled.test, compiled.roots)
        // What somebody may not ask about is not matched for him: the end of his subscription must not tell that it
        // fits.
        guard showing.mayAllAsk || mayAnybodyAsk(showing, roots, only: id, &outcome) else { return }
        let before = showing.before.map { test.holds(for: $0.stored.fields, effort) }
        let after = showing.after.map { test.holds(for: $0.stored.fields, effort) }
        guard !effort.isExhausted else { return end(id, LiveBudget.error, &outcome) }
        guard before == true || after == true else { return }
        var events = LiveEvents()
        let over = Set(outcome.ended.flatMap(\.ids))
        for (query, view) in views {
            let asked = Self.asked(query, roots)
            let hasChanged = query.watch.isEmpty || showing.hasChanged(query.watch)
            if showing.isForAll {
                let ids = view.ids.values.reduce(into: Set()) { $0.formUnion($1) }
                guard let wanted = Self.wanted(ids, id), let kind = LiveEvent.Kind(before: before, after: after),
                    kind != .update || hasChanged
                else { continue }
                events.add(kind, showing.shown(kind, query.keys, .anonymous, (true, true)), hidden: [], wanted)
                continue
            }
            for (caller, ids) in view.ids {
                guard let wanted = Self.wanted(ids, id), over.isDisjoint(with: wanted) else { continue }
                do {
                    let rights = try LiveRights(caller, showing.change.info, asked: asked, namesOne: namesOne)
                    let readable = (before: rights.mayRead(showing.before), after: rights.mayRead(showing.after))
                    guard
                        let kind = LiveEvent.Kind(
                            before: before.map { $0 && readable.before }, after: after.map { $0 && readable.after }),
                        kind != .update || hasChanged
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

    private func end(_ id: UInt64?, _ error: ParseError, _ outcome: inout LiveOutcome) {
        outcome.ended.append((id.map { [$0] } ?? Array(subscribers.keys), error))
    }

    private static func asked(_ query: LiveQuery, _ roots: Set<String>) -> Set<String> {
        roots.union(query.watch.compactMap { try? FieldPath($0).root })
    }

    /// Ends the subscriptions of those who may not ask any more.
    /// - Returns: whether one is left.
    private func mayAnybodyAsk(
        _ showing: LiveShowing, _ roots: Set<String>, only id: UInt64?, _ outcome: inout LiveOutcome
    ) -> Bool {
        var isOneLeft = false
        for (query, view) in views {
            let asked = Self.asked(query, roots)
            for (caller, ids) in view.ids {
                guard let wanted = Self.wanted(ids, id) else { continue }
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

    private static func wanted(_ ids: Set<UInt64>, _ id: UInt64?) -> Set<UInt64>? {
        guard let id else { return ids }
        return ids.contains(id) ? [id] : nil
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

/// Events of one condition, those with the same content together.
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
