import Foundation
import ObjectStore
import ParseProtocol
import Synchronization
import TestSupport
import Testing

/// What happens to a job that other processes overtake.
@Suite(.severalWriters) struct OvertakenTests {
    private static let increment: JSON = ["n": ["__op": "Increment", "amount": 1]]

    /// A job that is overtaken at each attempt fails within a bounded time and stores nothing. The jobs that wait with
    /// it succeed.
    @Test func aJobThatIsAlwaysOvertakenIsGivenUp() async throws {
        let replicas = try await Replicas(2)
        let id = try await replicas[0].create("T", ["n": 0, "own": 0])
        // A new class would make the group's transaction exclude the other replica, which the job waits for.
        try await replicas[0].create("Other", ["n": 0])
        let runs = Atomic<Int>(0)
        let (one, other) = (replicas[0].store, replicas[1].store)
        let meter = StallMeter()
        async let failure = error {
            try await one.write { job in
                runs.add(1, ordering: .relaxed)
                _ = try job.rows("SELECT 1", [])
                try other.writeAndWait { _ = try $0.update("T", id, Self.increment, caller: .master) }.get()
                _ = try job.update("T", id, ["own": 1], caller: .master)
            }
        }
        var others: [Task<String, any Error>] = []
        for index in 0..<20 { others.append(Task { try await replicas[0].create("Other", ["n": .int(Int64(index))]) }) }
        for task in others { _ = try await task.value }
        #expect(await failure?.code == .serviceUnavailable)
        #expect(meter.elapsed < .seconds(15))
        let count = runs.load(ordering: .relaxed)
        #expect(count >= JobBatch<Int>.triesAloneMin)
        // The backoff grows: without it there would be thousands of attempts.
        #expect(count < 1000)
        #expect(one.repeatedGroups >= count - 1)
        let object = try await replicas[1].get("T", id)
        #expect(object["n"]?.intValue == Int64(count))
        #expect(object["own"]?.intValue == 0)
    }

    /// What a job adds counts once, however often the job runs.
    @Test func whatIsDoneAgainIsCountedOnce() async throws {
        final class Count: SchemaQuota {
            let classes = Atomic<Int>(0)
            func addClass(_: String, count _: Int, by _: Caller) { classes.add(1, ordering: .relaxed) }
            func addFields(_: AddedFields, by _: Caller) {}
            var uncounted: any SchemaQuota { UnlimitedSchema() }
        }
        let count = Count()
        let test = try await TestStore(allowance: count, writers: .every)
        let other = try await TestStore(path: test.path, writers: .every, startsWriting: false)
        await other.mayWrite()
        let id = try await other.create("T", ["n": 0])
        let runs = Atomic<Int>(0)
        let store = other.store
        try await test.store.write { job in
            let run = runs.add(1, ordering: .relaxed).newValue
            _ = try job.rows("SELECT 1", [])
            if run == 1 { _ = try store.writeAndWait { try $0.update("T", id, Self.increment, caller: .master) }.get() }
            _ = try job.create("New", ["n": 1], caller: Caller(userId: "ann"))
            _ = try job.update("T", id, Self.increment, caller: .master)
        }
        #expect(runs.load(ordering: .relaxed) == 2)
        #expect(count.classes.load(ordering: .relaxed) == 1)
    }

    /// A serialization failure repeats the job, even if the job catches the error.
    @Test func whatIsCaughtIsNotHidden() async throws {
        let replicas = try await Replicas(2)
        let id = try await replicas[0].create("T", ["n": 0])
        let runs = Atomic<Int>(0)
        let told = Atomic<Int>(0)
        let other = replicas[1].store
        try await replicas[0].store.write { job in
            let run = runs.add(1, ordering: .relaxed).newValue
            job.afterCommit { told.add(1, ordering: .relaxed) }
            _ = try job.rows("SELECT 1", [])
            if run == 1 { _ = try other.writeAndWait { try $0.update("T", id, Self.increment, caller: .master) }.get() }
            try? job.nested { _ = try job.update("T", id, Self.increment, caller: .master) }
        }
        #expect(runs.load(ordering: .relaxed) == 2)
        #expect(told.load(ordering: .relaxed) == 1)
        #expect(try await replicas[1].get("T", id)["n"]?.intValue == 2)
        #expect(replicas[0].store.repeatedGroups == 1)
    }

    /// A deadlock: two jobs change two rows in different orders.
    @Test func aDeadlockBetweenReplicasIsResolved() async throws {
        let replicas = try await Replicas(2, allowCustomObjectId: true)
        for id in ["a", "b"] { try await replicas[0].create("T", ["n": 0], id: id) }
        for _ in 0..<5 {
            let outcomes = await replicas.atOnce(times: 4) { job, store, _ in
                for id in store == 0 ? ["a", "b"] : ["b", "a"] {
                    _ = try job.update("T", id, Self.increment, caller: .master)
                    Thread.sleep(forTimeInterval: 0.005)
                }
            }
            #expect(outcomes.failures() == [])
        }
        for id in ["a", "b"] { #expect(try await replicas[0].get("T", id)["n"]?.intValue == 40) }
    }

    @Test func watchersHearOfEachChangeOnce() async throws {
        let replicas = try await Replicas(2)
        let id = try await replicas[0].create("T", ["n": 0])
        let heard = Mutex<[String]>([])
        for test in replicas.stores {
            test.store.watch.listen { changes in
                heard.withLock { $0 += changes.map(\.objectId) }
            }
            test.store.watch.watch(["T"])
        }
        let outcomes = await replicas.atOnce(times: 30) { job, _, _ in
            _ = try job.update("T", id, Self.increment, caller: .master)
        }
        #expect(outcomes.failures() == [])
        #expect(heard.withLock { $0 } == Array(repeating: id, count: 60))
    }

    /// Repeated work is charged to its client once.
    @Test func aClientPaysOnceForWhatIsDoneAgain() async throws {
        let replicas = try await Replicas(2)
        let id = try await replicas[0].create("T", ["n": 0])
        let meter = Meter()
        let runs = Atomic<Int>(0)
        let times = Mutex<[Duration]>([])
        let other = replicas[1].store
        let share = WorkShare(client: .client(1), meter: meter)
        try await replicas[0].store.write(for: share) { job in
            let start = ContinuousClock.now
            defer { times.withLock { $0.append(ContinuousClock.now - start) } }
            let run = runs.add(1, ordering: .relaxed).newValue
            _ = try job.rows("SELECT 1", [])
            if run <= 3 {
                Thread.sleep(forTimeInterval: 0.2)
                _ = try other.writeAndWait { try $0.update("T", id, Self.increment, caller: .master) }.get()
            }
            _ = try job.update("T", id, Self.increment, caller: .master)
        }
        #expect(runs.load(ordering: .relaxed) == 4)
        let took = times.withLock { $0 }
        let longest = try #require(took.max())
        let shortest = try #require(took.prefix(3).min())
        #expect(shortest >= .milliseconds(200))
        // Only the longest run is charged.
        #expect(meter.used >= Int64(longest / .microseconds(1)))
        #expect(meter.used < Int64((longest + shortest) / .microseconds(1)))
    }
}

private final class Meter: WorkMeter {
    private let microseconds = Atomic<Int64>(0)
    var used: Int64 { microseconds.load(ordering: .relaxed) }
    var left: Int64 { 4_000_000 - used }
    func use(_ microseconds: Int64) { self.microseconds.add(microseconds, ordering: .relaxed) }
}
