import Foundation
import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// A store that is the only writer of its schema, and the operator's other programs that use the same database.
@Suite(.postgresqlOnly("Nobody else is in a file."), .serialized) struct OtherProgramTests {
    /// A session of another program in the store's schema.
    private final class Program: Sendable {
        private let store: TestStore
        private let work: Task<Bool, any Error>

        /// Runs a script in a transaction, concurrently with the store.
        init(_ script: String, in test: TestStore) throws {
            store = test
            // The folder's name is the schema's name.
            let schema = URL(fileURLWithPath: test.path).deletingLastPathComponent().lastPathComponent
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [
                "psql", TestStore.server ?? "", "-Xq", "-v", "ON_ERROR_STOP=1", "-c", "SET search_path = \"\(schema)\"",
                "-c", script,
            ]
            try process.run()
            work = Task {
                process.waitUntilExit()
                return process.terminationStatus == 0
            }
        }

        /// - Returns: true if the script succeeded.
        @discardableResult func end() async throws -> Bool { try await work.value }
    }

    /// In a deadlock, the server aborts one of the two transactions. If it is the store's, the store repeats its jobs.
    @Test(.timeLimit(.minutes(5))) func aDeadlockWithAnotherProgramIsResolved() async throws {
        let test = try await TestStore(writers: .one)
        try await test.store.write {
            _ = try $0.execute("CREATE TABLE mine(id INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
            _ = try $0.execute("INSERT INTO mine(id, n) VALUES (1, 0), (2, 0)")
        }
        let runs = Atomic<Int>(0)
        let told = Atomic<Int>(0)
        var (round, committed) = (0, 0)
        // The server chooses which of the two it aborts.
        while runs.load(ordering: .relaxed) <= round, round < 20 {
            round += 1
            // The store looks for a deadlock a second after it began to wait. The program, which then waits too, looks
            // only after 20 seconds.
            let program = try Program(
                """
                SET deadlock_timeout = '20s'; BEGIN; UPDATE mine SET n = n + 100 WHERE id = 2; SELECT pg_sleep(0.5);
                UPDATE mine SET n = n + 100 WHERE id = 1; COMMIT
                """, in: test)
            // On a busy machine the program may end unseen: then this round has no deadlock.
            _ = await comesTrue(within: 2) {
                let rows = try? await test.store.read {
                    try $0.rows(
                        """
                        SELECT 1 AS found FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND query LIKE '%n + 100%'
                        """, [])
                }
                return rows?.isEmpty == false
            }
            try await test.store.write { job in
                runs.add(1, ordering: .relaxed)
                job.afterCommit { told.add(1, ordering: .relaxed) }
                for id in [1, 2] { _ = try job.execute("UPDATE mine SET n = n + 1 WHERE id = ?", [.int(Int64(id))]) }
            }
            if try await program.end() { committed += 1 }
        }
        #expect(runs.load(ordering: .relaxed) > round, "The store was never the one that was ended.")
        #expect(told.load(ordering: .relaxed) == round)
        let rows = try await test.store.read {
            try $0.rows("SELECT n FROM mine ORDER BY id", []).map { try $0.int("n") }
        }
        // The server ends the program instead when the store looks too early.
        let sum = Int64(round + 100 * committed)
        #expect(rows == [sum, sum])
    }

    /// The store's state shows a write that waits for long, and clears it when the wait ends.
    @Test(.timeLimit(.minutes(5))) func aWriteThatWaitsForLongIsKnown() async throws {
        let test = try await TestStore(writers: .one)
        try await test.store.write { _ = try $0.execute("CREATE TABLE mine(id INTEGER PRIMARY KEY)") }
        #expect(test.store.trouble == nil)
        let program = try Program("BEGIN; LOCK TABLE mine; SELECT pg_sleep(12); COMMIT", in: test)
        let store = test.store
        #expect(
            await comesTrue(within: 30) {
                let rows = try? await store.read {
                    try $0.rows("SELECT 1 AS found FROM pg_stat_activity WHERE wait_event = 'PgSleep'", [])
                }
                return rows?.isEmpty == false
            })
        let write = Task { try await store.write { _ = try $0.execute("INSERT INTO mine(id) VALUES (1)") } }
        #expect(await comesTrue(within: 20) { store.trouble == .stuck })
        try await write.value
        #expect(await comesTrue(within: 30) { store.trouble == nil })
        try await program.end()
    }
}
