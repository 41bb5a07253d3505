import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// The writer loses its connection during a group. The server may have committed the group nevertheless.
@Suite(.postgresqlOnly("A file has no connection.")) struct LostAnswerTests {
    @Test func watchersHearThatTheyMayHaveMissedChanges() async throws {
        let test = try await TestStore(writers: .one)
        let id = try await test.create("T", ["n": 0])
        let heard = Atomic<Int>(0)
        let lost = Atomic<Int>(0)
        test.store.watch.listen(
            { heard.add($0.count, ordering: .relaxed) }, lost: { lost.add(1, ordering: .relaxed) })
        test.store.watch.watch(["T"])
        await #expect(throws: (any Error).self) {
            try await test.store.write { job in
                _ = try job.update("T", id, ["n": 1], caller: .master)
                _ = try job.rows("SELECT pg_terminate_backend(pg_backend_pid())", [])
            }
        }
        #expect(heard.load(ordering: .relaxed) == 0)
        #expect(lost.load(ordering: .relaxed) == 1)
    }
}
