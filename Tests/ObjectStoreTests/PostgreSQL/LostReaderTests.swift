import ObjectStore
import ParseProtocol
import Testing

/// When the server ends a reader's connection, the reader continues on another one, and the client gets no error.
@Suite(.postgresqlOnly("A file has no connection.")) struct LostReaderTests {
    /// The server processes that serve the readers.
    private func readers(of test: TestStore) async throws -> Set<Int64> {
        var found: Set<Int64> = []
        for _ in 0..<20 {
            found.insert(try await test.store.read { try $0.rows("SELECT pg_backend_pid() AS pid", [])[0].int("pid") })
        }
        return found
    }

    /// Returns when the server has ended them.
    private func end(_ processes: Set<Int64>, by test: TestStore) async throws {
        for process in processes {
            let ended = try await test.store.write { job in
                try job.rows("SELECT pg_terminate_backend(?::int, 10000) AS ended", [.int(process)])[0].int("ended")
            }
            #expect(ended == 1)
        }
    }

    @Test func aReadBehindAnEndedConnectionIsAnswered() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["n": 1])
        for _ in 0..<5 {
            let before = try await readers(of: test)
            try await end(before, by: test)
            #expect(try await test.get("T", id)["n"] == 1)
            #expect(try await test.names("T", [:]).isEmpty)
            #expect(try await readers(of: test).isDisjoint(with: before))
        }
    }

    /// Several reads at one moment form a transaction, which is restarted.
    @Test func aTransactionBehindAnEndedConnectionIsAnswered() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["n": 1])
        try await end(try await readers(of: test), by: test)
        for _ in 0..<20 {
            let read = try await test.store.read { reader in
                try reader.onOneSnapshot { try reader.get("T", id, keys: [], excludeKeys: [], caller: .master) }
            }
            #expect(try JSON(parsing: read)["n"] == 1)
        }
    }
}
