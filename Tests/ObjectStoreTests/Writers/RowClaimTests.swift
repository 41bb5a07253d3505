import Foundation
import ObjectStore
import ParseProtocol
import Testing

/// Work that several processes claim from one table.
@Suite(.severalWriters, .timeLimit(.minutes(5))) struct RowClaimTests {
    private static let schema = [
        "CREATE TABLE chores(id INTEGER PRIMARY KEY, name TEXT NOT NULL, dueAt INTEGER NOT NULL)"
    ]

    /// Replicas, and this many chores named by their numbers, due in that order.
    private func replicas(_ count: Int = 3, chores: Int64) async throws -> Replicas {
        let replicas = try await Replicas(count, schema: Self.schema)
        try await replicas[0].store.write { transaction in
            for number in 1...chores {
                try transaction.execute(
                    "INSERT INTO chores(id, name, dueAt) VALUES (?, ?, ?)",
                    [
                        .int(number), .text("\(number)"),
                        .int(transaction.now.milliseconds - 3_600_000 + number),
                    ])
            }
        }
        return replicas
    }

    private func claim(
        _ store: TestStore, limit: Int, where condition: String = "name <> ?", _ arguments: [SQLValue] = ["no name"],
        for time: Duration = .seconds(600)
    ) async throws -> [Int64] {
        let claim = RowClaim(
            "id, name", of: "chores", where: condition, arguments, orderedBy: "dueAt, id", limit: limit, for: time)
        return try await store.store.claim(claim).map { row in
            let id = try row.int("id")
            #expect(try row.text("name") == "\(id)")
            return id
        }
    }

    @Test func whatIsDueLongestIsTakenAndComesAgain() async throws {
        let replicas = try await replicas(2, chores: 10)
        let (one, other) = (replicas[0], replicas[1])
        try await one.store.write { transaction in
            try transaction.execute(
                "UPDATE chores SET dueAt = ? WHERE id > 8", [.int(transaction.now.milliseconds + 3_600_000)])
        }
        #expect(try await claim(one, limit: 3).sorted() == [1, 2, 3])
        #expect(try await claim(other, limit: 3, for: .milliseconds(300)).sorted() == [4, 5, 6])
        #expect(try await claim(one, limit: 1, where: "id > ? AND name <> ?", [.int(7), .text("")]) == [8])
        #expect(try await claim(one, limit: 1) == [7])
        var again: [Int64] = []
        #expect(
            try await comesTrue(within: 30) {
                again += try await claim(one, limit: 99)
                return again.count >= 3
            })
        #expect(again.sorted() == [4, 5, 6])
    }

    /// All claim at once, while other jobs add and finish chores.
    @Test func noRowIsTakenTwice() async throws {
        let replicas = try await replicas(chores: 400)
        let taken = Numbers()
        let adding = Task { [replicas] in
            for number in 401...500 as ClosedRange<Int64> {
                try await replicas[1].store.write { transaction in
                    try transaction.execute(
                        "INSERT INTO chores(id, name, dueAt) VALUES (?, ?, 1)", [.int(number), .text("\(number)")])
                }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for test in replicas.stores {
                for _ in 0..<3 {
                    group.addTask { [self] in
                        let end = ContinuousClock.now + .seconds(60)
                        while taken.all.count < 500, ContinuousClock.now < end {
                            let mine = try await claim(test, limit: 7)
                            for id in mine { taken.add(Int(id)) }
                            try await test.store.write { transaction in
                                for id in mine {
                                    try transaction.execute("DELETE FROM chores WHERE id = ?", [.int(id)])
                                }
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await adding.value
        #expect(taken.all.sorted() == Array(1...500))
        #expect(try await replicas[0].store.read { try $0.rows("SELECT 1 AS n FROM chores") }.isEmpty)
    }

    @Test func whatAnotherTakesAtThisMomentIsNotWaitedFor() async throws {
        let replicas = try await replicas(2, chores: 3)
        let claimed = try await replicas[0].store.write { [self, other = replicas[1]] transaction in
            try transaction.execute("UPDATE chores SET dueAt = 1 WHERE id = 2")
            return try Self.waiting { try await claim(other, limit: 9).sorted() }
        }
        #expect(claimed == [1, 3])
    }

    /// The result of a task, for a thread that may block.
    private static func waiting(_ body: @escaping @Sendable () async throws -> [Int64]) throws -> [Int64] {
        let done = DispatchSemaphore(value: 0)
        let numbers = Numbers()
        let task = Task {
            defer { done.signal() }
            for id in try await body() { numbers.add(Int(id)) }
        }
        guard done.wait(timeout: .now() + 30) == .success else {
            task.cancel()
            throw ParseError.internalError
        }
        return numbers.all.map(Int64.init)
    }

    /// A single writer tracks its work in memory and claims no rows, and a store that does not write must not claim.
    @Test func aReadOnlyStoreClaimsNothing() async throws {
        let replicas = try await replicas(1, chores: 3)
        let idle = try await TestStore(path: replicas[0].path, writers: .every, startsWriting: false)
        #expect(try await claim(idle, limit: 9) == [])
        let alone = try await TestStore(schema: Self.schema, writers: .one)
        try await alone.store.write { try $0.execute("INSERT INTO chores(id, name, dueAt) VALUES (1, '1', 1)") }
        #expect(try await claim(alone, limit: 9) == [])
        #expect(try await claim(replicas[0], limit: 9).count == 3)
    }

    @Test func aLostConnectionIsMadeAnew() async throws {
        let replicas = try await replicas(1, chores: 3)
        let test = replicas[0]
        #expect(try await claim(test, limit: 1) == [1])
        let ended = try await test.store.write { transaction in
            try transaction.rows(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE query LIKE '%SKIP LOCKED%' AND query LIKE '%chores%' AND pid <> pg_backend_pid() \
                AND application_name = (SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid())
                """
            ).count
        }
        #expect(ended == 1)
        #expect(
            await comesTrue(within: 30) {
                // The first statement on the lost connection may fail.
                ((try? await claim(test, limit: 1)) ?? []) == [2]
            })
        test.store.stop()
        #expect(try await claim(test, limit: 1) == [])
    }
}
