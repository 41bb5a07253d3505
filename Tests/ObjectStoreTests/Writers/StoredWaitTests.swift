import ObjectStore
import ParseProtocol
import Testing

/// Stored waits still end after the clock is set back.
@Suite struct StoredWaitTests {
    @Test func onlyWhatWaitsLongerThanAnyRowMayIsShortened() async throws {
        let test = try await TestStore(schema: [
            "CREATE TABLE waits(id INTEGER PRIMARY KEY, dueAt INTEGER NOT NULL, state TEXT NOT NULL)"
        ])
        let now = Timestamp.now
        @Sendable func time(_ seconds: Int64) -> SQLValue { .int(now.advanced(by: .seconds(seconds)).milliseconds) }
        try await test.store.write { transaction in
            for (id, seconds, state) in [
                (1, -5, "waits"), (2, 50, "waits"), (3, 40 * 86_400, "waits"), (4, 40 * 86_400, "chosen"),
                (5, 3000, "waits"),
            ] as [(Int64, Int64, String)] {
                _ = try transaction.execute(
                    "INSERT INTO waits(id, dueAt, state) VALUES (?, ?, ?)", [.int(id), time(seconds), .text(state)])
            }
        }
        func times() async throws -> [Int64] {
            try await test.store.read { reader in
                try reader.rows("SELECT dueAt FROM waits ORDER BY id").map {
                    (try $0.int("dueAt") - now.milliseconds) / 1000
                }
            }
        }
        let waits = StoredWaits("dueAt", of: "waits", atMost: .seconds(3600), where: "state = 'waits'")
        #expect(try await waits.shorten(in: test.store) == 1)
        var left = try await times()
        #expect((0...60).contains(left[2]), "\(left)")
        left[2] = 0
        #expect(left == [-5, 50, 0, 40 * 86_400, 3000])
        #expect(try await waits.shorten(in: test.store) == 0)
        let resting = StoredWaits("dueAt", of: "waits", atMost: .seconds(60), then: .seconds(30))
        #expect(try await resting.shorten(in: test.store) == 2)
        #expect(try await times()[3...].allSatisfy { (25...90).contains($0) })
    }
}
