import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// The writer loses its connection while it changes rows that subscribers watch.
@Suite(.postgresqlOnly("A file has no connection.")) struct LostAnswerTests {
    /// Ends the writer's connection when the server commits.
    private static let endsAtCommit = [
        "CREATE TEMPORARY TABLE breaks(n INTEGER)",
        """
        CREATE FUNCTION pg_temp.endConnection() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'
        """,
        """
        CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON breaks DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION pg_temp.endConnection()
        """,
        "INSERT INTO breaks(n) VALUES (1)",
    ]

    /// Before the commit nothing can have been stored. Without an answer to the commit, the changes may be stored.
    @Test(arguments: [(["SELECT pg_terminate_backend(pg_backend_pid())"], 0), (endsAtCommit, 1)])
    func watchersHearThatTheyMayHaveMissedChanges(_ statements: [String], _ losses: Int) async throws {
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
                for statement in statements { _ = try job.rows(statement, []) }
            }
        }
        #expect(heard.load(ordering: .relaxed) == 0)
        #expect(lost.load(ordering: .relaxed) == losses)
    }
}
