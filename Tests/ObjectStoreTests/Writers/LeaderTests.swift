import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// One of several writing processes leads.
@Suite(.severalWriters) struct LeaderTests {
    private func leaders(_ stores: [TestStore]) -> [Int] {
        stores.indices.filter { stores[$0].store.role == .writer }
    }

    private func server(of test: TestStore) async throws -> Int64 {
        try await test.store.write { try $0.rows("SELECT pg_backend_pid() AS pid", [])[0].int("pid") }
    }

    private func end(_ server: Int64, by test: TestStore) async throws {
        _ = try await test.store.write { try $0.rows("SELECT pg_terminate_backend(?::int)", [.int(server)]).count }
    }

    @Test func oneLeadsAndAnotherFollowsIt() async throws {
        let first = try await TestStore(writers: .every, startsWriting: false)
        let stores = try await [
            first, TestStore(path: first.path, writers: .every, startsWriting: false),
            TestStore(path: first.path, writers: .every, startsWriting: false),
        ]
        let became = Numbers()
        let refused = Numbers()
        for (index, test) in stores.enumerated() {
            await test.mayWrite(
                refused: { _ in refused.add(index) }, { became.add(index) })
        }
        #expect(await comesTrue(within: 30) { leaders(stores).count == 1 })
        let old = try #require(leaders(stores).first)
        let others = stores.indices.filter { $0 != old }
        #expect(stores.filter { !$0.store.mayWrite }.isEmpty)
        // The others write while there is no leader, and none of their writes fails.
        let ended = try await server(of: stores[old])
        let writing = Task { [stores] in
            var count = 0
            while !Task.isCancelled {
                try await stores[others[count % 2]].create("T", ["n": .int(Int64(count))])
                count += 1
            }
            return count
        }
        try await end(ended, by: stores[others[0]])
        // The former leader may believe for a moment longer that it leads.
        #expect(await comesTrue(within: 30) { leaders(stores).contains { $0 != old } })
        let new = try #require(leaders(stores).first { $0 != old })
        // It detects the other leader and must be restarted.
        #expect(await comesTrue(within: 30) { refused.all == [old] })
        #expect(!stores[old].store.mayWrite)
        writing.cancel()
        let count = try await writing.value
        #expect(became.all == [old, new])
        let query = Query(className: "T", limit: 1000)
        let stored = try await stores[new].store.read { try $0.count(query, caller: .master) }
        #expect(stored == count)
    }

    @Test func aFollowerContinuesWithoutALeader() async throws {
        let replicas = try await Replicas(2)
        #expect(await comesTrue(within: 30) { leaders(replicas.stores).count == 1 })
        let leader = try #require(leaders(replicas.stores).first)
        let other = replicas[1 - leader]
        let ended = try await server(of: other)
        try await end(ended, by: replicas[leader])
        #expect(await comesTrue(within: 30) { await code { try await other.create("T", ["n": 1]) } == nil })
        #expect(leaders(replicas.stores) == [leader])
        #expect(try await replicas[leader].store.read { try $0.count(Query(className: "T"), caller: .master) } >= 1)
    }

    @Test func aLeaderThatStopsIsFollowed() async throws {
        let replicas = try await Replicas(2)
        #expect(await comesTrue(within: 30) { leaders(replicas.stores).count == 1 })
        let leader = try #require(leaders(replicas.stores).first)
        replicas[leader].store.stop()
        #expect(await comesTrue(within: 30) { leaders(replicas.stores) == [1 - leader] })
    }

    @Test func oneWriterAndSeveralDoNotWriteAtOnce() async throws {
        let one = try await TestStore(writers: .one)
        let other = try await TestStore(path: one.path, writers: .every, startsWriting: false)
        let third = try await TestStore(path: one.path, writers: .one, startsWriting: false)
        let began = Atomic<Int>(0)
        other.store.startWriting(mayWrite: { if $0 { began.add(1, ordering: .relaxed) } }, {})
        // Twice the interval of the leader's check.
        try await Task.sleep(for: .milliseconds(500))
        #expect(began.load(ordering: .relaxed) == 0)
        #expect(await code { try await other.create("T", ["n": 1]) } == ParseError.Code.serviceUnavailable.rawValue)
        one.store.stop()
        #expect(await comesTrue(within: 30) { other.store.mayWrite })
        third.store.startWriting {}
        try await Task.sleep(for: .milliseconds(500))
        #expect(!third.store.mayWrite)
        other.store.stop()
        #expect(await comesTrue(within: 30) { third.store.mayWrite && third.store.role == .writer })
    }
}
