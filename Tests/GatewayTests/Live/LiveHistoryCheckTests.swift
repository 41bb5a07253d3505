import ParseProtocol
import TestSupport
import Testing

/// The checker of live query histories accepts correct histories and detects each kind of fault.
@Suite struct LiveHistoryCheckTests {
    private typealias Span = LiveHistory.Span

    private static let everybody: JSON = ["*": ["read": true]]
    private static let members: JSON = ["role:tea": ["read": true]]

    /// A stored object: the field that the query tests, and its read access.
    private static func fields(_ version: Int64, n: Int64, _ access: JSON = everybody) -> [String: JSON] {
        ["version": .int(version), "n": .int(n), "ACL": access]
    }

    private static func shown(_ id: String, _ version: Int64, n: Int64, _ access: JSON = everybody) -> JSON {
        .object(fields(version, n: n, access).merging(["objectId": .string(id)]) { $1 })
    }

    private static let query = LiveHistory.Query { $0["n"]?.intValue ?? 0 > 0 }

    /// Two objects, written one after the other: x is created, updated, leaves the query, enters it again and is
    /// deleted; only members of a role may read y.
    private static let writes: [LiveHistory.Write] = [
        .init("x", version: 1, fields(1, n: 1), Span(10, 19)), .init("x", version: 2, fields(2, n: 2), Span(20, 29)),
        .init("y", version: 1, fields(1, n: 1, members), Span(30, 39)),
        .init("x", version: 3, fields(3, n: 0), Span(40, 49)), .init("x", version: 4, fields(4, n: 4), Span(50, 59)),
        .init("x", version: 5, nil, Span(60, 69)),
    ]

    private static let events: [LiveHistory.Event] = [
        .init("create", shown("x", 1, n: 1)), .init("update", shown("x", 2, n: 2), original: shown("x", 1, n: 1)),
        .init("leave", shown("x", 3, n: 0), original: shown("x", 2, n: 2)),
        .init("enter", shown("x", 4, n: 4), original: shown("x", 3, n: 0)), .init("delete", shown("x", 4, n: 4)),
    ]

    private static let secret = LiveHistory.Event("create", shown("y", 1, n: 1, members))

    private static func contradictions(
        _ events: [LiveHistory.Event], of reader: LiveHistory.Reader = .init(), began: Span = .init(1, 2),
        _ end: LiveHistory.End = .quiet, resumed: [(span: Span, eventCount: Int)] = [],
        writes: [LiveHistory.Write] = writes
    ) -> [String] {
        var listening = LiveHistory.Listening("somebody", reader, query, began: began)
        listening.resumed = resumed
        listening.events = events
        listening.end = end
        var history = LiveHistory()
        history.writes = writes
        history.listenings = [listening]
        return history.contradictions
    }

    private static func reader(
        changes: [(span: Span, roles: Set<String>)] = [], revoked: Span? = nil
    ) -> LiveHistory.Reader {
        var reader = LiveHistory.Reader(userId: "ann")
        reader.changes = changes
        reader.revoked = revoked
        return reader
    }

    // MARK: Correct histories

    @Test func whatIsImpliedIsFine() {
        #expect(Self.contradictions(Self.events) == [])
        var all = Self.events
        all.insert(Self.secret, at: 2)
        #expect(Self.contradictions(all, of: .init(isMaster: true)) == [])
    }

    @Test func whatWasBeforeTheBeginOrAfterTheEndIsNotTold() {
        #expect(Self.contradictions(Array(Self.events.dropFirst(2)), began: .init(25, 35)) == [])
        // An event of a concurrent write may be present or not.
        #expect(Self.contradictions(Array(Self.events.dropFirst()), began: .init(25, 35)) == [])
        for count in 0...Self.events.count {
            #expect(Self.contradictions(Array(Self.events.prefix(count)), .cut) == [])
        }
    }

    @Test func aRoleCountsFromAMomentWithinItsChange() {
        var told = Self.events
        told.insert(Self.secret, at: 2)
        let during = Self.reader(changes: [(Span(31, 33), ["tea"])])
        for events in [told, Self.events] { #expect(Self.contradictions(events, of: during) == []) }
        #expect(Self.contradictions(told, of: Self.reader(changes: [(Span(5, 6), ["tea"])])) == [])
        #expect(Self.contradictions(Self.events, of: Self.reader(changes: [(Span(41, 42), ["tea"])])) == [])
    }

    @Test func aRevokedSessionIsToldUpToThen() {
        let reader = Self.reader(revoked: Span(35, 45))
        for count in 0...3 {
            #expect(Self.contradictions(Array(Self.events.prefix(count)), of: reader, .refused(209)) == [])
        }
    }

    @Test func aClientBeyondItsProcessorTimeIsToldUpToThen() {
        let all = Array(Self.events.prefix(2)) + [Self.secret] + Self.events.dropFirst(2)
        for code: Int64 in [154, 155] {
            #expect(Self.contradictions(Array(Self.events.prefix(2)), .refused(code)) == [])
            #expect(!Self.contradictions(Array(Self.events.suffix(2)), .refused(code)).isEmpty, "Two are missing.")
            #expect(Self.contradictions(all, of: .init(isMaster: true), .refused(code)).count == 1)
        }
    }

    @Test func resumingAtACursorMissesNothing() {
        let again: [(span: Span, eventCount: Int)] = [(Span(70, 80), 2)]
        #expect(Self.contradictions(Self.events, resumed: again) == [])
        // Missed events are shown with the current rights.
        var told = Self.events
        told.insert(Self.secret, at: 2)
        #expect(Self.contradictions(told, of: Self.reader(changes: [(Span(50, 60), ["tea"])]), resumed: again) == [])
    }

    // MARK: Faults

    @Test(arguments: 0..<5) func aLostEventIsFound(index: Int) {
        var events = Self.events
        events.remove(at: index)
        #expect(Self.contradictions(events).count == 1)
        #expect(!Self.contradictions(events, resumed: [(Span(70, 80), 2)]).isEmpty)
        // Only the last events may be lost with a connection.
        #expect(Self.contradictions(events, .cut).isEmpty == (index == 4))
    }

    @Test(arguments: 0..<5) func anEventThatComesTwiceIsFound(index: Int) {
        for place in index...Self.events.count {
            var events = Self.events
            events.insert(Self.events[index], at: place)
            #expect(Self.contradictions(events).contains { $0.contains("twice") })
        }
        // Also when the event comes again after a cursor.
        let again = Array(Self.events.prefix(index + 1)) + Array(Self.events.suffix(from: index))
        #expect(!Self.contradictions(again, resumed: [(Span(70, 80), index + 1)]).isEmpty)
    }

    @Test(arguments: 0..<4) func twoSwappedEventsAreFound(index: Int) {
        for end in [.quiet, .cut] as [LiveHistory.End] {
            var events = Self.events
            events.swapAt(index, index + 1)
            #expect(Self.contradictions(events, end).contains { $0.contains("No order") })
        }
    }

    @Test func swappedEventsOfTwoObjectsAreFound() {
        var events = Self.events
        events.insert(Self.secret, at: 1)
        #expect(Self.contradictions(events, of: .init(isMaster: true)).contains { $0.contains("No order") })
    }

    /// Each order on its own is possible, but not both.
    @Test func whatTwoSawInDifferentOrdersIsFound() {
        var history = LiveHistory()
        history.writes = ["x", "y"].map { .init($0, version: 1, Self.fields(1, n: 1), Span(10, 20)) }
        let events = ["x", "y"].map { LiveHistory.Event("create", Self.shown($0, 1, n: 1)) }
        for (name, events) in [("one", events), ("other", events.reversed())] {
            var listening = LiveHistory.Listening(name, .init(), Self.query, began: Span(1, 2))
            listening.events = events
            listening.end = .quiet
            #expect(history.contradictions == [])
            history.listenings.append(listening)
        }
        #expect(history.contradictions.count == 1)
    }

    @Test func whatMayNotBeReadIsFound() {
        var events = Self.events
        events.insert(Self.secret, at: 2)
        #expect(Self.contradictions(events).count == 1)
        // The role was removed before, or granted after.
        #expect(!Self.contradictions(events, of: Self.reader(changes: [(Span(50, 60), ["tea"])])).isEmpty)
        var former = Self.reader(changes: [(Span(3, 4), [])])
        former.roles = ["tea"]
        #expect(!Self.contradictions(events, of: former).isEmpty)
        // A field that the query did not select.
        events = Self.events
        events[0] = .init("create", .object(Self.fields(1, n: 1).merging(["objectId": "x", "more": 1]) { $1 }))
        #expect(Self.contradictions(events).count == 1)
    }

    /// For each of the two writes, either result is possible. But a role cannot count for the first write and not for
    /// the second.
    @Test func aRoleThatCountsInTheWrongOrderIsFound() {
        let writes = ["x", "y"].enumerated().map { index, id -> LiveHistory.Write in
            let begin = Int64(10 + index * 10)
            return .init(id, version: 1, Self.fields(1, n: 1, Self.members), Span(begin, begin + 5))
        }
        let reader = Self.reader(changes: [(Span(1, 100), ["tea"])])
        let events = ["x", "y"].map { LiveHistory.Event("create", Self.shown($0, 1, n: 1, Self.members)) }
        for (told, isFine) in [(events, true), ([events[1]], true), ([], true), ([events[0]], false)] {
            #expect(Self.contradictions(told, of: reader, began: .init(0, 0), writes: writes).isEmpty == isFine)
        }
    }

    @Test func anEventOfAnotherKindIsFound() {
        let kinds = ["create", "enter", "update", "leave", "delete"]
        for (index, event) in Self.events.enumerated() {
            for kind in kinds where kind != event.kind {
                var events = Self.events
                events[index] = .init(kind, event.object, original: event.original)
                #expect(!Self.contradictions(events).isEmpty, "\(kind) for \(event)")
            }
        }
    }

    @Test func anEventAfterARevocationIsFound() {
        let reader = Self.reader(revoked: Span(32, 35))
        #expect(!Self.contradictions(Array(Self.events.prefix(3)), of: reader, .refused(209)).isEmpty)
        #expect(!Self.contradictions(Array(Self.events.prefix(2)), of: reader).isEmpty, "It goes on.")
        #expect(!Self.contradictions(Array(Self.events.prefix(2)), .refused(209)).isEmpty, "Nobody revoked it.")
    }

    @Test func whatNobodyWroteAndWhatWasBeforeTheBeginIsFound() {
        let stranger = LiveHistory.Event("create", Self.shown("z", 1, n: 1))
        #expect(Self.contradictions(Self.events + [stranger]).count == 1)
        #expect(!Self.contradictions(Self.events, began: .init(21, 22)).isEmpty)
        // An event in the middle is missing, after an event from before the beginning was delivered.
        #expect(!Self.contradictions([Self.events[0]] + Self.events.dropFirst(2), began: .init(15, 35)).isEmpty)
    }

    /// Detects every removed, duplicated or moved event in a long history of one order.
    @Test(arguments: 1...10 as ClosedRange<UInt64>) func faultsInLongHistoriesAreFound(seed: UInt64) {
        var random = Seeded(seed)
        var (writes, events): ([LiveHistory.Write], [LiveHistory.Event]) = ([], [])
        var versions = [Int64](repeating: 0, count: 5)
        for index in 0..<400 {
            let object = Int.random(in: 0..<5, using: &random)
            let (version, id, begin) = (versions[object] + 1, "o\(object)", Int64(10 * index + 10))
            versions[object] = version
            writes.append(.init(id, version: version, Self.fields(version, n: 1), Span(begin, begin + 5)))
            let was = version > 1 ? Self.shown(id, version - 1, n: 1) : nil
            events.append(.init(was == nil ? "create" : "update", Self.shown(id, version, n: 1), original: was))
        }
        #expect(Self.contradictions(events, writes: writes) == [])
        let place = Int.random(in: 0..<399, using: &random)
        var faulty = [events, events, events]
        faulty[0].remove(at: place)
        faulty[1].insert(events[place], at: Int.random(in: 0..<400, using: &random))
        faulty[2].swapAt(place, Int.random(in: place + 1..<400, using: &random))
        for events in faulty { #expect(!Self.contradictions(events, writes: writes).isEmpty) }
    }
}
