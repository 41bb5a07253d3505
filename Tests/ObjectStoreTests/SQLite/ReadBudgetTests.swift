import Foundation
import ObjectStore
import ParseProtocol
import Synchronization
import TestSupport
import Testing

/// The limits on a read's work: per lane, for the store's readers, and by the request's budget.
@Suite struct ReadBudgetTests {
    private final class Meter: WorkMeter {
        private let remaining: Atomic<Int64>
        init(_ microseconds: Int64) { remaining = Atomic(microseconds) }
        var left: Int64 { max(0, remaining.load(ordering: .relaxed)) }
        func use(_ microseconds: Int64) { remaining.subtract(microseconds, ordering: .relaxed) }
    }

    /// Objects on whose strings a backtracking pattern uses up its step limit. PostgreSQL's patterns do not backtrack;
    /// there the number of objects makes the query slow.
    private func store() async throws -> TestStore {
        let store = try await TestStore()
        for index in 0..<150 {
            try await store.create(
                "Slow", ["text": .string(String(repeating: "a", count: 64) + "b!"), "n": .int(Int64(index))])
        }
        guard TestStore.server != nil else { return store }
        _ = try await store.store.write { job in
            try job.execute(
                """
                INSERT INTO o1(objectId, createdAt, updatedAt, publicRead, publicWrite, doc, data) \
                SELECT 'copy' || number || objectId, 0, 0, true, true, replace(doc, '"n":', '"m":'), data \
                FROM o1, generate_series(1, 1500) AS number
                """)
        }
        return store
    }

    /// How often reads were begun, and how many have ended.
    private final class Progress: Sendable {
        let begun = Atomic(0)
        let ended = Atomic(0)
    }

    private static let slow = Query(
        className: "Slow",
        where: JSON.object(["$or": .array(Array(repeating: ["text": ["$regex": "^(a|aa)+b$"]], count: 40))]).serialized)
    private static let quick = Query(className: "Slow", where: Array(#"{"n":7}"#.utf8), limit: 1)

    @Test(.timeLimit(.minutes(1))) func aReadApartHasItsOwnLimit() async throws {
        let store = try await store()
        let count = try await store.store.readApart(within: .seconds(290)) { reader in
            #expect(reader.timeLimit == .seconds(290))
            return try reader.count(Query(className: "Slow"), caller: .master)
        }
        #expect(count >= 150)
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        let failure = await #expect(throws: ParseError.self) {
            _ = try await store.store.readApart(within: .milliseconds(20)) { try $0.rows(endless, []).count }
        }
        #expect(failure?.code == .timeout)
    }

    @Test(.sqliteOnly("A server keeps no log for a reader."), .timeLimit(.minutes(2)))
    func aReadApartEndsBeforeTheLogFillsTheDisk() async throws {
        let store = try await store()
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        // The log has grown by more than that at once.
        let failure = await #expect(throws: ParseError.self) {
            _ = try await store.store.readApart(within: .seconds(290), logBytes: -1) { reader in
                try reader.rows(endless, []).count
            }
        }
        #expect(failure?.code == .timeout)
    }

    @Test func aReadThatTakesLongLeavesTheLane() async throws {
        let store = try await store()
        let reader = try store.store.makeReader()
        let meter = StallMeter()
        for _ in 0..<3 {
            let page = try reader.attempt(slice: .milliseconds(5), onlyQuick: false) {
                try reader.find(Self.slow, caller: .anonymous)
            }
            #expect(page == nil)
        }
        #expect(meter.elapsed < .seconds(8), "Each took its slice and not the whole limit.")
        let page = try reader.attempt(slice: .milliseconds(500), onlyQuick: false) {
            try reader.find(Self.quick, caller: .anonymous)
        }
        #expect(page?.rows == 1)
    }

    /// Runs a query until it runs where only known ones do. On a busy machine a run may take too long.
    private func untilKnown(_ find: (_ onlyQuick: Bool) throws -> Int?) throws {
        var found: Int?
        for _ in 0..<100 where found == nil {
            let answered = try find(false)
            #expect(answered == 1)
            found = try find(true)
        }
        #expect(found == 1)
    }

    @Test func whereOnlyProvenQueriesAreTakenTheOthersDoNotBegin() async throws {
        let store = try await store()
        let reader = try store.store.makeReader()
        func find(_ query: Query, onlyQuick: Bool) throws -> Int? {
            try reader.attempt(slice: .milliseconds(200), onlyQuick: onlyQuick) {
                try reader.find(query, caller: .anonymous).rows
            }
        }
        #expect(try find(Self.quick, onlyQuick: true) == nil)
        try untilKnown { try find(Self.quick, onlyQuick: $0) }
        // The same shape with another value counts as the same query.
        #expect(try find(Query(className: "Slow", where: Array(#"{"n":8}"#.utf8), limit: 1), onlyQuick: true) == 1)
        _ = try? find(Self.slow, onlyQuick: false)
        #expect(try find(Self.slow, onlyQuick: true) == nil)
    }

    /// A connection caches a limited number of statements.
    @Test func manyOtherQueriesLeaveAQuickOneQuick() async throws {
        let store = try await store()
        let reader = try store.store.makeReader()
        func find(_ query: Query, onlyQuick: Bool) throws -> Int? {
            try reader.attempt(slice: .milliseconds(200), onlyQuick: onlyQuick) {
                try reader.find(query, caller: .anonymous).rows
            }
        }
        try untilKnown { try find(Self.quick, onlyQuick: $0) }
        for number in 0..<600 {
            _ = try find(
                Query(className: "Slow", where: Array(#"{"field\#(number)":1}"#.utf8), limit: 1), onlyQuick: false)
        }
        #expect(try find(Self.quick, onlyQuick: true) == 1)
    }

    /// A lane without time for unknown queries learns from the reader threads which ones are quick.
    @Test func whatReadersRunQuicklyALaneRunsToo() async throws {
        let store = try await store()
        let lane = try store.store.makeReader()
        func onLane(_ query: Query) throws -> Int? {
            try lane.attempt(slice: .milliseconds(200), onlyQuick: true) {
                try lane.find(query, caller: .anonymous).rows
            }
        }
        #expect(try onLane(Self.quick) == nil)
        for _ in 0..<4 { _ = try? await store.store.read { try $0.find(Self.slow, caller: .anonymous).rows } }
        var found: Int?
        // On a busy machine a run may take too long.
        for _ in 0..<100 where found == nil {
            _ = try await store.store.read { try $0.find(Self.quick, caller: .anonymous).rows }
            found = try onLane(Self.quick)
        }
        #expect(found == 1)
        #expect(try onLane(Self.slow) == nil)
    }

    @Test func aBudgetEndsAReadAndIsCharged() async throws {
        let store = try await store()
        let meter = Meter(200_000)
        let share = WorkShare(client: .client(1), meter: meter)
        await #expect(throws: ParseError.self) {
            try await store.store.read(for: share) { try $0.find(Self.slow, caller: .anonymous).rows }
        }
        #expect(meter.left == 0)
        // The request has no budget left for any other read or write.
        let read = await error {
            _ = try await store.store.read(for: share) { try $0.find(Self.quick, caller: .anonymous).rows }
        }
        #expect(read?.code == .timeout)
        let write = await error {
            _ = try await store.store.write(for: share) { try $0.create("Slow", ["n": 1], caller: .master) }
        }
        #expect(write?.code == .timeout)
        #expect(try await store.store.read { try $0.find(Self.quick, caller: .anonymous).rows } == 1)
    }

    /// Waiting for the server uses no processor time here, but is charged too.
    @Test(.postgresqlOnly("In SQLite the processor's time is all.")) func theServersTimeIsCharged() async throws {
        let store = try await TestStore()
        let meter = Meter(2_000_000)
        let share = WorkShare(client: .client(1), meter: meter)
        _ = try await store.store.read(for: share) { try $0.rows("SELECT 1 FROM pg_sleep(0.4)") }
        #expect(meter.left <= 1_600_000)
        let runs = Atomic<Int>(0)
        var counts: [Int] = []
        for _ in 0..<2 {
            // The server ends the statement, else there would be an answer.
            let answer = await error {
                _ = try await store.store.read(for: share) { reader in
                    runs.add(1, ordering: .relaxed)
                    return try reader.rows("SELECT 1 FROM pg_sleep(20)")
                }
            }
            counts.append(runs.load(ordering: .relaxed))
            #expect(answer?.code == .timeout)
            #expect(answer?.message == "The request took too much processor time.")
            // The statement may end some microseconds before the budget does.
            #expect(meter.left < 100_000)
            meter.use(meter.left)
        }
        #expect(counts[0] == counts[1], "The second one did not begin.")
    }

    @Test(.timeLimit(.minutes(2))) func aShortReadDoesNotWaitForLongOnes() async throws {
        let store = try await store()
        let progress = Progress()
        let long = (0..<4).map { client in
            Task {
                defer { progress.ended.add(1, ordering: .relaxed) }
                let share = WorkShare(client: .client(client), meter: Meter(1_500_000))
                _ = try await store.store.read(for: share) { reader in
                    progress.begun.add(1, ordering: .relaxed)
                    return try reader.find(Self.slow, caller: .anonymous).rows
                }
            }
        }
        // All four have begun, and one of them began again, as a long one.
        while progress.begun.load(ordering: .relaxed) < 5 { try await Task.sleep(for: .milliseconds(10)) }
        #expect(try await store.store.read { try $0.find(Self.quick, caller: .anonymous).rows } == 1)
        #expect(progress.ended.load(ordering: .relaxed) < 4)
        for task in long { _ = await task.result }
    }
}
