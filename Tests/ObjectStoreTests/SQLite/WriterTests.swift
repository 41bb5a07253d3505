import Foundation
import ObjectStore
import ParseProtocol
import TestSupport
import Testing

@Suite struct WriterTests {
    @Test func aFailingJobDoesNotHurtTheOthersOfItsGroup() async throws {
        let test = try await TestStore()
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<300 {
                group.addTask {
                    let failure = await code {
                        try await test.store.write { job in
                            _ = try job.create("T", ["n": .int(Int64(index)), "field\(index % 7)": 1], caller: .master)
                            if index % 3 == 0 { throw ParseError(.validationError, "no") }
                        }
                    }
                    return failure == nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(outcomes == 200)
        let stored = try await test.store.read { try $0.documents(Query(className: "T", limit: 1000), caller: .master) }
        #expect(stored.count == 200)
        #expect(stored.allSatisfy { ($0["n"]?.intValue ?? 0) % 3 != 0 })
    }

    @Test func nestedUndoesOnlyItsOwnPart() async throws {
        let test = try await TestStore(schema: [
            "CREATE TABLE IF NOT EXISTS counters(name TEXT PRIMARY KEY, value INTEGER)"
        ])
        let flag = Flag()
        try await test.store.write { job in
            _ = try job.create("T", ["name": "kept"], caller: .master)
            try? job.nested {
                _ = try job.create("New", ["name": "undone", "fresh": 1], caller: .master)
                _ = try job.execute("INSERT INTO counters VALUES(?, ?)", ["x", 1])
                job.afterCommit { flag.raise() }
                throw ParseError(.validationError, "no")
            }
            #expect(try job.rows("SELECT * FROM counters").isEmpty)
            #expect(try job.execute("INSERT INTO counters VALUES(?, ?)", ["y", 2]) == 1)
            #expect(throws: StoreError.self) {
                try job.nested { try job.execute("INSERT INTO counters VALUES(?, ?)", ["y", 2]) }
            }
            _ = try job.create("New", ["name": "kept", "fresh": "text"], caller: .master)
        }
        #expect(!flag.isRaised)
        #expect(try await test.names("T", [:]) == ["kept"])
        #expect(try await test.names("New", ["fresh": "text"]) == ["kept"])
        let rows = try await test.store.read { try $0.rows("SELECT name, value FROM counters WHERE value > ?", [1]) }
        try #require(rows.count == 1)
        #expect(try rows[0].text("name") == "y")
        #expect(try rows[0].int(1) == 2)
        #expect(throws: StoreError.self) { try rows[0]["none"] }
    }

    @Test func afterCommitRunsBeforeTheAnswer() async throws {
        let test = try await TestStore()
        let flag = Flag()
        try await test.store.write { $0.afterCommit { flag.raise() } }
        #expect(flag.isRaised)
    }

    @Test(.sqliteOnly("The disk is that of a file, which a pragma keeps small."))
    func aFullDiskFailsTheWholeGroupAndLeavesNothing() async throws {
        let test = try await TestStore()
        try await test.create("T", ["name": "before"])
        // The limit is below the size that one more of these jobs needs, so SQLite aborts the transaction.
        try await test.store.write { job in
            let pages = try job.rows("PRAGMA page_count")[0].int(0)
            _ = try job.rows("PRAGMA max_page_count = \(pages + 20)")
        }
        let gate = DispatchSemaphore(value: 0)
        let (held, holding) = AsyncStream<Void>.makeStream()
        // Holds the writer so that the following jobs form one group. A job submitted before that would be in the
        // writer's own group.
        test.store.submit(
            { _ in
                holding.finish()
                gate.wait()
            }, completion: { _ in })
        for await _ in held {}
        let results = Results()
        for index in 0..<10 {
            test.store.submit(
                { job in
                    _ = try job.create(
                        "T",
                        [
                            "name": .string("n\(index)"), "learnt": 1,
                            "big": .string(String(repeating: "x", count: 30_000)),
                        ], caller: .master)
                }, completion: { results.add($0) })
        }
        gate.signal()
        await results.wait(for: 10)
        #expect(results.failures == 10)
        #expect(try await test.names("T", [:]) == ["before"])
        // The writer continues, and forgets the class changes of the lost group.
        try await test.create("T", ["name": "later", "learnt": "text"])
        #expect(try await test.names("T", [:]) == ["before", "later"])
    }

    @Test func theNextReplicaTakesOverWhenTheWriterStops() async throws {
        let first = try await TestStore()
        try await first.create("T", ["name": "one"])
        let second = try await TestStore(path: first.path, startsWriting: false)
        #expect(second.store.role == .reader)
        #expect(await code { try await second.create("T", ["name": "two"]) } == 2)
        let becoming = Task { await second.becomeWriter() }
        try await Task.sleep(for: .milliseconds(150))
        #expect(second.store.role == .reader)
        #expect(first.store.role == .writer)
        try await first.create("T", ["name": "two", "fresh": true])
        // A replica immediately sees a commit of the other process and the class's new field.
        #expect(try await second.names("T", ["fresh": true]) == ["two"])
        first.store.stop()
        await becoming.value
        #expect(second.store.role == .writer)
        #expect(first.store.role == .reader)
        try await second.create("T", ["name": "three"])
        #expect(try await second.names("T", [:], order: ["createdAt"]) == ["one", "two", "three"])
        #expect(await code { try await first.create("T", ["name": "late"]) } == 2)
        second.store.stop()
    }

    @Test func aReaderWaitsForTheFile() async throws {
        let test = try await TestStore(startsWriting: false)
        let reading = Task { try await test.names("T", [:]) }
        try await Task.sleep(for: .milliseconds(100))
        await test.becomeWriter()
        #expect(try await reading.value.isEmpty)
    }

    @Test func aReaderSeesAWriteAtOnce() async throws {
        let test = try await TestStore()
        for index in 0..<50 {
            let id = try await test.create("C\(index % 5)", ["f\(index)": .int(Int64(index))])
            #expect(try await test.get("C\(index % 5)", id)["f\(index)"] == .int(Int64(index)))
        }
    }

    @Test func aFullQueueRefusesAtOnce() async throws {
        let test = try await TestStore()
        let gate = DispatchSemaphore(value: 0)
        test.store.submit({ _ in gate.wait() }, completion: { _ in })
        let results = Results()
        for _ in 0..<5000 { test.store.submit({ _ in }, completion: { results.add($0) }) }
        #expect(results.failures >= 5000 - 4096 - 128)
        gate.signal()
        await results.wait(for: 5000)
        #expect(results.failures <= 5000 - 4096 + 1)
    }

    @Test func stopEndsTheWaitForAFile() async throws {
        let test = try await TestStore(startsWriting: false)
        let reading = Task { await code { _ = try await test.names("T", [:]) } }
        try await Task.sleep(for: .milliseconds(100))
        let meter = StallMeter()
        test.store.stop()
        #expect(await reading.value == 2)
        // Unless it is stopped, it waits for 30 s.
        #expect(meter.elapsed < .seconds(20))
    }

    @Test func stopFinishesWhatWasTaken() async throws {
        let test = try await TestStore()
        let results = Results()
        for index in 0..<500 {
            test.store.submit(
                { _ = try $0.create("T", ["n": .int(Int64(index))], caller: .master) }, completion: { results.add($0) })
        }
        test.store.stop()
        #expect(results.count == 500)
        #expect(results.failures == 0)
    }
}

final class Flag: @unchecked Sendable {
    private let lock = NSLock()
    private var value = false
    func raise() { lock.withLock { value = true } }
    var isRaised: Bool { lock.withLock { value } }
}

final class Results: @unchecked Sendable {
    private let lock = NSLock()
    private var outcomes: [Bool] = []
    func add<T>(_ result: Result<T, any Error>) {
        lock.withLock {
            if case .success = result { outcomes.append(true) } else { outcomes.append(false) }
        }
    }
    var count: Int { lock.withLock { outcomes.count } }
    var failures: Int { lock.withLock { outcomes.count { !$0 } } }
    func wait(for expected: Int) async { while count < expected { try? await Task.sleep(for: .milliseconds(5)) } }
}
