import ParseProtocol

/// Compares the received events with the expected events of each write. It collects the resulting constraints on the
/// order of writes in `order`, which is checked after all comparisons. Pure.
struct LiveJudgement {
    /// A write and the object's state before it.
    private struct Step {
        let write: LiveHistory.Write
        let before: LiveHistory.Write?
        let node: Int

        var name: String { "\(write.objectId) version \(write.version)" }
    }

    /// The nodes of one subscription in `order`.
    private struct Points {
        let begin: Int
        /// Nil when it lasted until all activity ended.
        let end: Int?
        /// For each role change, the node from which the subscription had the new rights.
        let changes: [Int]
    }

    private var steps: [Step] = []
    private var byObject: [String: [Int]] = [:]
    private(set) var order = LiveOrder()
    private(set) var found: [String] = []

    init(_ writes: [LiveHistory.Write]) {
        for (objectId, writes) in Dictionary(grouping: writes, by: \.objectId) {
            var before: Step?
            for write in writes.sorted(by: { $0.version < $1.version }) {
                let node = order.add("\(objectId) version \(write.version)", write.span)
                if let before { order.require(before.node, before: node, "one object's versions") }
                let step = Step(write: write, before: before?.write, node: node)
                byObject[objectId, default: []].append(steps.count)
                steps.append(step)
                before = step
            }
        }
    }

    mutating func judge(_ listening: LiveHistory.Listening) {
        judgeEnd(of: listening)
        let points = addPoints(of: listening)
        let told = identify(listening)
        for (former, next) in zip(told, told.dropFirst()) {
            order.require(steps[former.step].node, before: steps[next.step].node, "\(listening.name) was told so")
        }
        var versions: [String: ClosedRange<Int64>] = [:]
        for (index, event) in told {
            judgeTold(listening, points, index, event: event)
            let write = steps[index].write
            let known = versions[write.objectId] ?? write.version...write.version
            versions[write.objectId] = min(known.lowerBound, write.version)...max(known.upperBound, write.version)
        }
        let isTold = Set(told.map(\.step))
        for index in steps.indices where !isTold.contains(index) {
            judgeUntold(listening, points, index, told: versions[steps[index].write.objectId])
        }
    }

    private mutating func judgeEnd(of listening: LiveHistory.Listening) {
        switch listening.end {
        case .quiet where listening.reader.revoked != nil:
            found.append("\(listening.name) goes on, though the session was revoked.")
        case .refused(209) where listening.reader.revoked == nil:
            found.append("\(listening.name) was ended as if its session had been revoked.")
        // On a slow machine a client exceeds its processor time (154), or its network does and too many changes wait
        // (155). Operators have no such limits.
        case .refused(154), .refused(155):
            if listening.reader.isMaster { found.append("\(listening.name) was ended as if it had a limit.") }
        case .refused(let code) where code != 209:
            found.append("\(listening.name) was ended with \(code).")
        case .quiet, .cut, .refused: break
        }
    }

    private mutating func addPoints(of listening: LiveHistory.Listening) -> Points {
        let name = listening.name
        let end: Int? =
            listening.end == .quiet
            ? nil : order.add("the end of \(name)", .init(.min, listening.reader.revoked?.end ?? .max))
        return Points(
            begin: order.add("the begin of \(name)", listening.began), end: end,
            changes: listening.reader.changes.map { order.add("new roles of \(name)", $0.span) })
    }

    // MARK: Delivered events

    /// The writes of the events, in the order of delivery.
    private mutating func identify(_ listening: LiveHistory.Listening) -> [(step: Int, event: Int)] {
        var known: Set<Int> = []
        var told: [(step: Int, event: Int)] = []
        for (index, event) in listening.events.enumerated() {
            guard let step = step(of: event) else {
                found.append("\(listening.name) was told of what nobody wrote: \(event).")
                continue
            }
            guard known.insert(step).inserted else {
                found.append("\(listening.name) was told twice: \(event).")
                continue
            }
            told.append((step, index))
        }
        return told
    }

    private func step(of event: LiveHistory.Event) -> Int? {
        let version = event.object["version"]?.intValue
        // When the object is deleted or no longer readable, the event shows its last visible state.
        let isFormer = event.kind == "delete" || event.kind == "leave" && event.object == event.original
        return byObject[event.objectId]?.first {
            (isFormer ? steps[$0].before?.version : steps[$0].write.version) == version
        }
    }

    private mutating func judgeTold(
        _ listening: LiveHistory.Listening, _ points: Points, _ index: Int, event: Int
    ) {
        let (step, event, span) = (steps[index], event, steps[index].write.span)
        order.require(points.begin, before: step.node, "\(listening.name) was told of it")
        if let end = points.end { order.require(step.node, before: end, "\(listening.name) was told of it") }
        let connection = listening.resumed.last { $0.eventCount <= event }
        var counts = listening.reader.changeCounts(within: span)
        let isReplayed = connection.map { !$0.span.precedes(span) } ?? false
        if isReplayed, let connection {
            // Events missed before a reconnection are evaluated with the rights at the reconnection.
            let later = listening.reader.changeCounts(within: connection.span)
            counts = span.precedes(connection.span) ? later : Self.union(counts, later)
        }
        let all = counts.map { (count: $0, event: implied(step, listening, after: $0)) }
        let fitting = all.filter { $0.event == listening.events[event] }.map(\.count)
        guard !fitting.isEmpty else {
            let texts = Set(all.map { $0.event.map(\.description) ?? "nothing" }).sorted().joined(separator: " or ")
            found.append("\(listening.name) was told \(listening.events[event]), but what it implies is \(texts).")
            return
        }
        if !isReplayed { bound(step, fitting, points, listening.name) }
    }

    // MARK: Missing events

    private mutating func judgeUntold(
        _ listening: LiveHistory.Listening, _ points: Points, _ index: Int, told versions: ClosedRange<Int64>?
    ) {
        let (step, span) = (steps[index], steps[index].write.span)
        let reader = listening.reader
        var counts = reader.changeCounts(within: span)
        let replays = listening.resumed.filter { !$0.span.precedes(span) }
        for replay in replays { counts = Self.union(counts, reader.changeCounts(within: replay.span)) }
        let fitting = counts.filter { implied(step, listening, after: $0) == nil }
        let mayBeBefore = !listening.began.precedes(span)
        guard fitting.isEmpty else {
            if !mayBeBefore, points.end == nil, replays.isEmpty { bound(step, fitting, points, listening.name) }
            return
        }
        let reason = "\(listening.name) was not told of it"
        switch (mayBeBefore, points.end) {
        case (false, nil): found.append("\(listening.name) was not told of \(step.name).")
        case (true, nil): order.require(step.node, before: points.begin, reason)
        case (false, let end?): order.require(end, before: step.node, reason)
        case (true, let end?):
            // Both are possible, unless another version of the object decides.
            guard let versions else { return }
            if versions.lowerBound < step.write.version {
                order.require(end, before: step.node, reason)
            } else {
                order.require(step.node, before: points.begin, reason)
            }
        }
    }

    // MARK: Common

    /// Records between which role changes a write occurred.
    private mutating func bound(_ step: Step, _ counts: [Int], _ points: Points, _ name: String) {
        guard let least = counts.min(), let most = counts.max() else { return }
        if least > 0 { order.require(points.changes[least - 1], before: step.node, "roles of \(name)") }
        if most < points.changes.count {
            order.require(step.node, before: points.changes[most], "roles of \(name)")
        }
    }

    private static func union(_ one: ClosedRange<Int>, _ other: ClosedRange<Int>) -> ClosedRange<Int> {
        min(one.lowerBound, other.lowerBound)...max(one.upperBound, other.upperBound)
    }

    /// The event that a subscriber must receive for a write; nil for none.
    /// - Parameter count: number of the reader's role changes before the write.
    private func implied(
        _ step: Step, _ listening: LiveHistory.Listening, after count: Int
    ) -> LiveHistory.Event? {
        let (query, reader, id) = (listening.query, listening.reader, step.write.objectId)
        let roles = reader.roles(after: count)
        func shown(_ fields: [String: JSON]?) -> JSON? {
            fields.flatMap { reader.mayRead($0, roles: roles) ? query.shown($0, id) : nil }
        }
        let (before, after) = (step.before?.fields, step.write.fields)
        let (was, now) = (shown(before), shown(after))
        let knew = was != nil && before.map(query.fits) == true
        let knows = now != nil && after.map(query.fits) == true
        let isWatched = query.watch.isEmpty || query.watch.contains { before?[$0] != after?[$0] }
        switch (knew, knows) {
        case (true, true):
            return isWatched ? .init("update", now ?? .null, original: was) : nil
        case (true, false):
            guard after != nil else { return .init("delete", was ?? .null) }
            return .init("leave", now ?? was ?? .null, original: was)
        case (false, true):
            guard before == nil else { return .init("enter", now ?? .null, original: was) }
            return isWatched ? .init("create", now ?? .null, original: was) : nil
        case (false, false): return nil
        }
    }
}
