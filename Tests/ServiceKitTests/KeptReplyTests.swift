import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Testing

/// Stored replies: old ones are deleted, damaged ones cause an internal error, sealed ones are unreadable.
@Suite(.serialized, .timeLimit(.minutes(10))) struct KeptReplyTests {
    private func withTally(_ body: (BusBench, ServiceHost) async throws -> Void) async throws {
        try await BusBench.with { bench in
            try await body(bench, try await bench.start(KeyedRepliesTests.plan, KeyedRepliesTests.build))
        }
    }

    /// Calls once and returns the number of the run that answered.
    private func run(_ bench: BusBench, key: String) async throws -> Int64 {
        let reply = try await bench.ask("tally.add.v1", deletion(of: "ann"), key: key)
        return try UserDeleted(serializedBytes: reply.body).deletedAt
    }

    /// Makes the stored replies older by the given seconds.
    private func age(_ table: String, by seconds: Int64, _ host: ServiceHost) async throws {
        try await host.store.write { transaction in
            _ = try transaction.execute("UPDATE \(table) SET keptSince = keptSince - ?", [.int(seconds * 1000)])
        }
    }

    /// - Returns: whether there may be more.
    @discardableResult
    private func prune(_ host: ServiceHost) async throws -> Bool {
        try await host.store.write { try KeyedReplies.prune($0) }
    }

    @Test func anAnswerIsKeptForAMinute() async throws {
        try await withTally { bench, host in
            #expect(try await run(bench, key: "k") == 1)
            try await age("keyedReplies", by: 20, host)
            #expect(try await !prune(host))
            #expect(try await run(bench, key: "k") == 1)
            try await age("keyedReplies", by: 41, host)
            #expect(try await !prune(host))
            #expect(try await run(bench, key: "k") == 2)
        }
    }

    /// An outbox retries for days while the receiver or its own host is down.
    @Test func anAnswerToAnOutboxIsKeptForAMonth() async throws {
        try await withTally { bench, host in
            #expect(try await run(bench, key: "outbox:k") == 1)
            #expect(try await host.number("SELECT count(*) FROM keyedReplies") == 0)
            try await age("deliveredReplies", by: 29 * 86_400, host)
            try await prune(host)
            #expect(try await run(bench, key: "outbox:k") == 1)
            try await age("deliveredReplies", by: 86_401, host)
            try await prune(host)
            #expect(try await run(bench, key: "outbox:k") == 2)
        }
    }

    /// A client may repeat a write with an `Idempotency-Key` for 24 hours.
    @Test func anAnswerToAClientsKeyIsKeptForMoreThanADay() async throws {
        try await withTally { bench, host in
            #expect(try await run(bench, key: "client:k") == 1)
            #expect(try await host.number("SELECT count(*) FROM keyedReplies") == 0)
            try await age("clientReplies", by: 24 * 3600, host)
            try await prune(host)
            #expect(try await run(bench, key: "client:k") == 1)
            try await age("clientReplies", by: 3601, host)
            try await prune(host)
            #expect(try await run(bench, key: "client:k") == 2)
        }
    }

    /// It outlives the customer's account.
    @Test func anAnswerToAClientsKeyIsReadableWithTheKeyAlone() async throws {
        try await withTally { bench, host in
            let first = try await bench.ask("tally.add.v1", deletion(of: "ann"), key: "client:k")
            let kept = try await host.store.read { reader in
                try reader.rows("SELECT key, reply FROM clientReplies").map { row in
                    (try row.text("key"), try row.blob("reply"))
                }
            }
            #expect(kept.count == 1)
            for (key, reply) in kept {
                #expect(!key.contains("client:k"))
                #expect(!String(decoding: reply, as: UTF8.self).contains("ann"))
            }
            let again = try await bench.ask("tally.add.v1", deletion(of: "ann"), key: "client:k")
            #expect(again.body == first.body)
            #expect(again.documents == first.documents)
            #expect(again.forget == first.forget)
        }
    }

    /// Removal uses the writer's time, so each step removes only a part.
    @Test(arguments: ["keyedReplies", "deliveredReplies"]) func manyOldAnswersGoInParts(table: String) async throws {
        try await withTally { bench, host in
            try await host.store.write { transaction in
                _ = try transaction.execute(
                    """
                    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1500)
                    INSERT INTO \(table)(key, keptSince, reply) SELECT 'old ' || n, 0, x'00' FROM numbers
                    """)
            }
            let key = table == "deliveredReplies" ? "outbox:new" : "new"
            #expect(try await run(bench, key: key) == 1)
            #expect(try await prune(host))
            #expect(try await host.number("SELECT count(*) FROM \(table)") == 501)
            #expect(try await !prune(host))
            #expect(try await host.number("SELECT count(*) FROM \(table)") == 1)
            #expect(try await run(bench, key: key) == 1)
        }
    }

    /// A clock that was in 2099 for a while. The last answers are of the time after it.
    @Test func answersOfTheFutureGoWithLaterOnes() async throws {
        try await withTally { bench, host in
            let now = Timestamp.now.milliseconds
            for (count, keptSince) in [(1, 0), (1500, 4_070_908_800_000), (700, now)] {
                try await host.store.write { transaction in
                    _ = try transaction.execute(
                        """
                        WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < \(count))
                        INSERT INTO keyedReplies(key, keptSince, reply) SELECT '\(keptSince) ' || n, \(keptSince), x'00'
                        FROM numbers
                        """)
                }
            }
            #expect(try await !prune(host))
            #expect(try await host.number("SELECT count(*) FROM keyedReplies") == 2200)
            try await age("keyedReplies", by: 61, host)
            #expect(try await prune(host))
            #expect(try await host.number("SELECT count(*) FROM keyedReplies") == 1200)
            try await prune(host)
            #expect(try await host.number("SELECT count(*) FROM keyedReplies") == 0)
        }
    }

    /// A row of a clock that was behind for a moment proves nothing about it.
    @Test func anAnswerOfAClockThatIsSecondsAheadStays() async throws {
        try await withTally { bench, host in
            #expect(try await run(bench, key: "k") == 1)
            try await age("keyedReplies", by: -30, host)
            try await host.store.write { transaction in
                _ = try transaction.execute(
                    "INSERT INTO keyedReplies(key, keptSince, reply) VALUES ('behind', 0, x'00')")
            }
            try await prune(host)
            #expect(try await host.number("SELECT count(*) FROM keyedReplies") == 1)
            #expect(try await run(bench, key: "k") == 1)
        }
    }

    @Test(arguments: ["x''", "x'0100'", "x'00000000'", "x'FFFFFFFF00000000'", "x'0000000005000000AA'"])
    func aDamagedAnswerIsAnInternalErrorAndRunsNothing(blob: String) async throws {
        try await withTally { bench, host in
            #expect(try await run(bench, key: "k") == 1)
            try await host.store.write { _ = try $0.execute("UPDATE keyedReplies SET reply = \(blob)") }
            let failure = await #expect(throws: BusFailure.self) { try await run(bench, key: "k") }
            #expect(failure?.failure.code == 1)
            #expect(failure?.failure.message == ParseError.internalError.message)
            #expect(try await host.number("SELECT count(*) FROM runs") == 1)
        }
    }

    // MARK: Sealed

    /// Inverts every byte: enough to see that a reply is sealed, and under which key.
    private static let seal = ReplySeal(
        seal: { reply, key in Array(key.utf8) + [0] + reply.map { ~$0 } },
        open: { sealed, key in
            let head = Array(key.utf8) + [0]
            return sealed.starts(with: head) ? sealed.dropFirst(head.count).map { ~$0 } : nil
        })

    private static let sealedPlan: ServicePlan = {
        var plan = KeyedRepliesTests.plan
        plan.replySeal = seal
        return plan
    }()

    @Test func aSealedAnswerIsNotReadableAndOpens() async throws {
        try await BusBench.with { bench in
            let host = try await bench.start(Self.sealedPlan, KeyedRepliesTests.build)
            let first = try await bench.ask("tally.add.v1", deletion(of: "ann"), key: "k")
            let kept = try await host.store.read { try $0.rows("SELECT reply FROM keyedReplies").first?.blob(0) ?? [] }
            #expect(kept.starts(with: Array("k".utf8) + [0]))
            #expect(!String(decoding: kept, as: UTF8.self).contains("ann"))
            let again = try await bench.ask("tally.add.v1", deletion(of: "ann"), key: "k")
            #expect(again.body == first.body)
            #expect(again.documents == first.documents)
            #expect(again.forget == first.forget)
        }
    }

    @Test func whatAnEarlierReleaseKeptUnsealedIsStillAnswered() async throws {
        try await withTally { bench, host in
            #expect(try await run(bench, key: "k") == 1)
            try await bench.end(host)
            let sealing = try await bench.start(Self.sealedPlan, KeyedRepliesTests.build)
            #expect(try await run(bench, key: "k") == 1)
            #expect(try await sealing.number("SELECT count(*) FROM runs") == 1)
        }
    }
}
