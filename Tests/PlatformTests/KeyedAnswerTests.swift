import Foundation
import Messages
import ObjectStore
import ParseProtocol
import Platform
import ServiceSupport
import Testing

/// The runs of a write with an `Idempotency-Key`.
@Suite struct KeyedAnswerTests {
    private let sandbox: SandboxStore

    init() async throws { sandbox = try await SandboxStore(platformPlan) }

    private func message(_ run: String, request: String = "r") -> BeginWrite {
        .with {
            $0.key = "k"
            $0.request = request
            $0.run = run
        }
    }

    private func begin(_ run: String) async throws -> WriteState {
        let message = message(run)
        return try await sandbox.store.write { try KeyedAnswers.begin(message, by: .master, in: $0) }
    }

    private func end(_ run: String, _ answer: [UInt8]? = nil) async throws -> WriteState.Outcome {
        let message = EndWrite.with {
            $0.key = "k"
            $0.run = run
            $0.answer = Data(answer ?? [])
            $0.retriable = answer == nil
        }
        return try await sandbox.store.write { try KeyedAnswers.end(message, by: .master, in: $0).outcome }
    }

    /// What a waiting request sees.
    private func look(request: String = "r") async throws -> WriteState {
        let message = message("waiting", request: request)
        return try await sandbox.store.read { try KeyedAnswers.state(message, in: $0) }
    }

    /// The lease, or the grace after it, is over.
    private func pass() async throws {
        try await sandbox.store.write { transaction in
            _ = try transaction.execute(
                "UPDATE keyedAnswers SET busyUntil = CASE WHEN busyUntil > 0 THEN 1 ELSE -1 END")
        }
    }

    @Test func aWaitingRequestSeesTheRunAndItsAnswer() async throws {
        #expect(try await look().outcome == .unknown)
        #expect(try await begin("a").outcome == .run)
        #expect(try await look().outcome == .running)
        #expect(try await look(request: "other").outcome == .unknown)
        #expect(try await end("a", [1, 2]) == .run)
        #expect(try await look().outcome == .answered)
        #expect(try await look().answer == Data([1, 2]))
        #expect(try await begin("b").answer == Data([1, 2]))
    }

    /// Catalog was away for longer than the lease.
    @Test func aRunThatCouldNotBeRenewedKeepsTheWrite() async throws {
        #expect(try await begin("a").outcome == .run)
        try await pass()
        #expect(try await look().outcome == .unknown)
        #expect(try await begin("b").outcome == .running)
        #expect(try await look().outcome == .running)
        #expect(try await begin("b").outcome == .running)
        #expect(try await begin("a").outcome == .run)
        #expect(try await begin("b").outcome == .running)
        try await pass()
        #expect(try await begin("b").outcome == .running, "The renewal began a new lease.")
        #expect(try await end("a", [1]) == .run)
        #expect(try await begin("b").outcome == .answered)
    }

    @Test func aRunThatEndedWithItsGatewayIsFollowedByOneWithItsSeed() async throws {
        let first = try await begin("a")
        try await pass()
        #expect(try await begin("b").outcome == .running)
        try await pass()
        #expect(try await look().outcome == .unknown)
        let second = try await begin("b")
        #expect(second.outcome == .run)
        #expect(second.seed == first.seed)
        #expect(try await begin("a").outcome == .running)
        #expect(try await end("a", [1]) == .running)
        #expect(try await end("b", [2]) == .run)
    }

    /// A clock that was in 2099 for a while. The last answers are of the time after it.
    @Test func answersOfTheFutureGoWithLaterOnes() async throws {
        let now = Timestamp.now.milliseconds
        try await sandbox.store.write { transaction in
            for (count, keptSince) in [(1, 0), (1200, 4_070_908_800_000), (400, now)] {
                try transaction.execute(
                    """
                    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < \(count))
                    INSERT INTO keyedAnswers(key, request, seed, run, busyUntil, keptSince)
                    SELECT '\(keptSince) ' || n, '', '', '', 0, \(keptSince) FROM numbers
                    """)
            }
        }
        #expect(try await removeExpired() == false)
        #expect(try await sandbox.count("SELECT count(*) FROM keyedAnswers") == 1600)
        try await sandbox.store.write { transaction in
            _ = try transaction.execute("UPDATE keyedAnswers SET keptSince = 0 WHERE keptSince = \(now)")
        }
        for left in [Int64(1100), 600, 0] {
            try await removeExpired()
            #expect(try await sandbox.count("SELECT count(*) FROM keyedAnswers") == left)
        }
    }

    /// - Returns: whether there may be more.
    @discardableResult
    private func removeExpired() async throws -> Bool {
        try await sandbox.store.write { try KeyedAnswers.removeExpired(in: $0) }
    }

    /// The clock may be set back for a while.
    @Test func anAnswerOfTheFutureStays() async throws {
        #expect(try await begin("a").outcome == .run)
        #expect(try await end("a", [1]) == .run)
        #expect(try await begin("b").outcome == .answered)
        try await sandbox.store.write { _ = try $0.execute("UPDATE keyedAnswers SET keptSince = 4070908800000") }
        #expect(try await look().outcome == .answered)
        #expect(try await begin("b").outcome == .answered)
    }

    @Test func afterATemporaryAnswerTheNextRunBeginsAtOnce() async throws {
        #expect(try await begin("a").outcome == .run)
        #expect(try await end("a") == .run)
        #expect(try await look().outcome == .unknown)
        #expect(try await begin("a").outcome == .running, "A late renewal takes nothing.")
        #expect(try await look().outcome == .unknown)
        #expect(try await begin("b").outcome == .run)
    }
}
