import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// Which subscribers receive a change: by query, by rights at that moment, and with the fields that they may see.
@Suite struct LiveMatcherTests {
    /// A store whose changes are collected.
    private final class Watched: Sendable {
        let store: TestStore
        private let changes = Mutex<[StoredChange]>([])

        init(_ classes: [ClassDefinition] = []) async throws {
            store = try await TestStore(classes)
            store.store.watch.listen { [unowned self] new in changes.withLock { $0 += new } }
            store.store.watch.watch(["Note"])
        }

        func take() -> [StoredChange] {
            changes.withLock { changes in
                defer { changes = [] }
                return changes
            }
        }
    }

    private static func matcher(
        _ queries: [(condition: JSON, caller: Caller)], keys: [String] = [], watch: [String] = []
    ) throws -> LiveMatcher {
        let matcher = LiveMatcher(clock: { 0 })
        for (index, query) in queries.enumerated() {
            let live = try LiveQuery(
                className: "Note", condition: query.condition.serialized, keys: keys, watch: watch)
            try matcher.add(.init(id: UInt64(index + 1), caller: query.caller, client: 0), to: live)
        }
        return matcher
    }

    private static func shown(_ outcome: LiveOutcome) throws -> [UInt64: (kind: LiveEvent.Kind, object: JSON)] {
        var shown: [UInt64: (kind: LiveEvent.Kind, object: JSON)] = [:]
        for event in outcome.events {
            for id in event.ids { shown[id] = (event.kind, try JSON(parsing: event.object)) }
        }
        return shown
    }

    @Test(
        arguments: [
            (nil, true, .create), (nil, false, nil), (true, nil, .delete), (false, nil, nil), (true, true, .update),
            (true, false, .leave), (false, true, .enter), (false, false, nil), (nil, nil, nil),
        ] as [(Bool?, Bool?, LiveEvent.Kind?)])
    func theEventFollowsFromBeforeAndAfter(_ before: Bool?, _ after: Bool?, _ kind: LiveEvent.Kind?) {
        #expect(LiveEvent.Kind(before: before, after: after) == kind)
    }

    @Test func changesAreToldInTheOrderOfTheirCommitsAndUndoneOnesNot() async throws {
        let watched = try await Watched()
        let ids = try await watched.store.store.write { job in
            try (0..<3).map { try job.create("Note", ["n": .int(Int64($0))], caller: .master).objectId }
        }
        struct ForcedRollback: Error {}
        await #expect(throws: ForcedRollback.self) {
            try await watched.store.store.write { job in
                _ = try job.create("Note", ["n": 99], caller: .master)
                throw ForcedRollback()
            }
        }
        try await watched.store.store.write { job in
            _ = try job.update("Note", ids[0], ["n": 10], caller: .master)
            _ = try? job.nested {
                _ = try job.delete("Note", ids[1], caller: .master)
                throw ForcedRollback()
            }
            _ = try job.delete("Note", ids[2], caller: .master)
        }
        try await watched.store.create("Other", ["n": 1])
        let changes = watched.take()
        #expect(changes.map(\.objectId) == ids + [ids[0], ids[2]])
        #expect(changes.map { $0.before == nil } == [true, true, true, false, false])
        #expect(changes.map { $0.after == nil } == [false, false, false, false, true])
    }

    @Test func enterUpdateAndLeaveAreToldApart() async throws {
        let watched = try await Watched()
        let matcher = try Self.matcher([(["n": ["$gt": 5]], .anonymous)])
        let id = try await watched.store.create("Note", ["n": 1])
        for (n, kind) in [(7, .enter), (8, .update), (2, .leave), (3, nil)] as [(Int64, LiveEvent.Kind?)] {
            _ = watched.take()
            try await watched.store.update("Note", id, ["n": .int(n)])
            let change = try #require(watched.take().first)
            let outcome = matcher.outcome(of: change)
            #expect(outcome.events.first?.kind == kind)
            if kind != nil { #expect(try Self.shown(outcome)[1]?.object["n"] == .int(n)) }
        }
    }

    /// When an ACL change hides an object, the event shows no content from after the change.
    @Test func rightsAreThoseOfBothSidesOfTheChange() async throws {
        let watched = try await Watched()
        let (ann, bob) = (Caller(userId: "annannanna"), Caller(userId: "bobbobbobb", roles: ["staff"]))
        let matcher = try Self.matcher([([:], ann), ([:], bob), ([:], .anonymous), ([:], .master)])
        let id = try await watched.store.create(
            "Note", ["text": "first", "ACL": ["annannanna": ["read": true], "role:staff": ["read": true]]])
        let created = try Self.shown(matcher.outcome(of: try #require(watched.take().first)))
        #expect(created.keys.sorted() == [1, 2, 4])
        try await watched.store.update("Note", id, ["text": "second", "ACL": ["role:staff": ["read": true]]])
        let outcome = matcher.outcome(of: try #require(watched.take().first))
        let changed = try Self.shown(outcome)
        #expect(changed[1]?.kind == .leave)
        #expect(changed[1]?.object["text"] == "first")
        #expect(changed[2]?.kind == .update)
        #expect(changed[2]?.object["text"] == "second")
        #expect(changed[3] == nil)
    }

    /// CVE-2026-34363: hiding a field from one subscriber does not remove it for another, and showing it to one does
    /// not reveal it to another.
    @Test func protectedFieldsAreNeitherShownNorAskedAbout() async throws {
        let hidden = ClassPermissions.open.protecting(["*": ["secret"], "role:staff": []])
        let watched = try await Watched([
            ClassDefinition("Note", fields: ["text": .string, "secret": .string], permissions: hidden)
        ])
        let matcher = try Self.matcher([
            ([:], .anonymous), ([:], Caller(userId: "bobbobbobb", roles: ["staff"])), (["secret": "x"], .anonymous),
        ])
        _ = try await watched.store.create("Note", ["text": "a", "secret": "x"])
        let outcome = matcher.outcome(of: try #require(watched.take().first))
        let shown = try Self.shown(outcome)
        #expect(shown[1]?.object["secret"] == nil)
        #expect(shown[1]?.object["text"] == "a")
        #expect(shown[2]?.object["secret"] == "x")
        // The outcome lists the hidden fields, so that code that changes the shown object does not add them again.
        #expect(outcome.events.first { $0.ids.contains(1) }?.hidden == ["secret"])
        #expect(outcome.events.first { $0.ids.contains(2) }?.hidden == [])
        #expect(outcome.ended.map(\.ids) == [[3]])
        #expect(outcome.ended.first?.error.code == .operationForbidden)
        #expect(matcher.count == 2)
    }

    @Test func updatesOfWatchedFieldsAloneAreTold() async throws {
        let watched = try await Watched()
        let matcher = try Self.matcher([([:], .anonymous)], keys: ["text"], watch: ["n"])
        let id = try await watched.store.create("Note", ["n": 1, "text": "a", "more": true])
        let created = try Self.shown(matcher.outcome(of: try #require(watched.take().first)))
        #expect(created[1]?.object["more"] == nil)
        #expect(created[1]?.object["className"] == "Note")
        #expect(created[1]?.object["objectId"] == .string(id))
        try await watched.store.update("Note", id, ["text": "b"])
        #expect(matcher.outcome(of: try #require(watched.take().first)).events.isEmpty)
        try await watched.store.update("Note", id, ["n": 2])
        #expect(matcher.outcome(of: try #require(watched.take().first)).events.map(\.kind) == [.update])
    }

    @Test func oneFormServesAllWhoMaySeeTheSame() async throws {
        let watched = try await Watched()
        let callers = (0..<50).map { Caller(userId: "user\($0)") }
        let matcher = try Self.matcher(callers.map { (["n": 1], $0) })
        _ = try await watched.store.create("Note", ["n": 1])
        let outcome = matcher.outcome(of: try #require(watched.take().first))
        #expect(outcome.events.count == 1)
        #expect(Set(outcome.events.first?.ids ?? []) == Set(1...50))
    }

    /// Slow matching is counted, and ends the subscription with a reason.
    @Test func aClientThatSpendsItsTimeIsToldSo() async throws {
        let watched = try await Watched()
        let time = Mutex<Int64>(0)
        let matcher = LiveMatcher(clock: {
            time.withLock { time in
                time += 30_000_000
                return time
            }
        })
        let query = try LiveQuery(className: "Note", condition: [], keys: [], watch: [])
        try matcher.add(.init(id: 1, caller: .anonymous, client: 7), to: query)
        var ended: ParseError?
        for _ in 0..<20 where ended == nil {
            _ = try await watched.store.create("Note", ["n": 1])
            for change in watched.take() { ended = matcher.outcome(of: change).ended.first?.error ?? ended }
        }
        #expect(ended?.code == .inefficientQuery)
        #expect(matcher.count == 0)
    }

    /// Patterns on an object with many strings would take minutes of processor time, at the cost of all clients.
    @Test func oneLookHasAnEndOfItsOwn() async throws {
        let watched = try await Watched()
        let looks = Mutex<Int64>(0)
        let matcher = LiveMatcher(
            clock: { 0 },
            processor: {
                looks.withLock { looks in
                    looks += 1
                    return looks * 10_000_000
                }
            })
        let condition: JSON = ["texts": ["$all": [["$regex": "^b$"], ["$regex": "^c$"]]]]
        let costly = try LiveQuery(className: "Note", condition: condition.serialized, keys: [], watch: [])
        let usual = try LiveQuery(className: "Note", condition: [], keys: [], watch: [])
        try matcher.add(.init(id: 1, caller: .anonymous, client: 0), to: costly)
        try matcher.add(.init(id: 2, caller: .anonymous, client: 0), to: usual)
        let texts = (0..<2000).map { _ in JSON.string("aa") } + ["b", "c"]
        _ = try await watched.store.create("Note", ["texts": .array(texts)])
        let change = try #require(watched.take().first)
        let outcome = matcher.outcome(of: change)
        #expect(outcome.ended.map(\.ids) == [[1]])
        #expect(outcome.ended.first?.error.code == .inefficientQuery)
        #expect(outcome.events.map(\.ids) == [[2]])
        #expect(looks.withLock { $0 } < 20, "It ends when its time is over.")
    }

    /// The work of a replay counts against the client that resumes. The client cannot start another replay at once.
    @Test func aReplayIsOnTheAccountOfWhoAsksForIt() async throws {
        let watched = try await Watched()
        let work = Mutex<Int64>(0)
        let matcher = LiveMatcher(
            clock: { 0 },
            processor: {
                work.withLock { work in
                    work += 30_000_000
                    return work
                }
            })
        let query = try LiveQuery(className: "Note", condition: [], keys: [], watch: [])
        for n in 0..<6 { _ = try await watched.store.create("Note", ["n": .int(Int64(n))]) }
        try matcher.checkBudget(of: 7)
        try matcher.add(.init(id: 1, caller: .anonymous, client: 7), to: query)
        let outcomes = watched.take().map { matcher.outcome(of: $0, for: 1) }
        #expect(outcomes.flatMap(\.ended).first?.error.code == .inefficientQuery)
        #expect(matcher.count == 0)
        #expect(throws: ParseError.self) { try matcher.checkBudget(of: 7) }
        try matcher.checkBudget(of: 9)
    }

    @Test func placesAreSharedOut() throws {
        let matcher = LiveMatcher(clock: { 0 })
        func add(_ id: UInt64, _ client: Int, keys: [String] = [], bytes: Int = 0) throws {
            let condition: JSON = bytes > 0 ? ["n": .string(String(repeating: "x", count: bytes))] : [:]
            let query = try LiveQuery(className: "Note", condition: condition.serialized, keys: keys, watch: [])
            try matcher.add(.init(id: id, caller: .anonymous, client: client), to: query)
        }
        for id in 0..<UInt64(32) { try add(id, 7, keys: ["k\(id)"]) }
        #expect(throws: ParseError.self) { try add(100, 7, keys: ["other"]) }
        try add(100, 7, keys: ["k1"])
        try add(101, 9, keys: ["other"])
        matcher.remove(0)
        try add(102, 7, keys: ["other"])
        for id in 0..<UInt64(20) { try add(200 + id, 11, bytes: 100_000) }
        #expect(throws: ParseError.self) { try add(300, 11, bytes: 100_000) }
        try add(300, 9, bytes: 100_000)
        matcher.remove(200)
        try add(301, 11, bytes: 100_000)
        let count = matcher.count
        #expect(throws: ParseError.self) { try add(302, 11, bytes: 100_000) }
        #expect(matcher.count == count)
    }

    @Test func accountsOfOneNetworkHaveItsPlaces() throws {
        let matcher = LiveMatcher(clock: { 0 })
        func add(_ id: UInt64, _ client: Int, at network: String) -> Bool {
            let condition: JSON = ["n": .string(String(repeating: "x", count: 100_000))]
            guard let query = try? LiveQuery(className: "Note", condition: condition.serialized, keys: [], watch: [])
            else { return false }
            let subscriber = LiveMatcher.Subscriber(
                id: id, caller: .anonymous, client: client, network: ClientNetwork(network))
            return (try? matcher.add(subscriber, to: query)) != nil
        }
        var id: UInt64 = 0
        func fill(_ network: String, accounts: Int) -> Int {
            (0..<accounts * 20).count { number in
                id += 1
                return add(id, number % accounts + Int(id) * 1000, at: network)
            }
        }
        #expect(fill("cb007107", accounts: 20) == 41, "4 MiB.")
        let neighbours = (11...19).reduce(0) { $0 + fill("cb0071\($1)", accounts: 5) }
        #expect(neighbours <= 167 - 41, "A wide network has four times as much: \(neighbours)")
        #expect(add(1 << 40, 1, at: "c6336407"), "Another network has its places.")
    }

    /// A client that lost the right to find must not learn from the end of its subscription that an object matched.
    @Test func aTakenRightEndsASubscriptionWhateverFits() async throws {
        let permissions = ClassPermissions(find: .init(["role:staff": true]), create: .everybody)
        let watched = try await Watched([
            ClassDefinition("Note", fields: ["n": .number], permissions: permissions)
        ])
        let matcher = try Self.matcher([
            (["n": 1], .anonymous), (["n": 2], Caller(userId: "bobbobbobb", roles: ["staff"])),
        ])
        _ = try await watched.store.create("Note", ["n": 2])
        let outcome = matcher.outcome(of: try #require(watched.take().first))
        #expect(outcome.ended.map(\.ids) == [[1]])
        #expect(outcome.events.map(\.ids) == [[2]])
    }
}
