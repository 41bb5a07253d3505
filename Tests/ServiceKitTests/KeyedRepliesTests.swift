import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Testing

/// Keyed replies over a real bus and a real store: a repeated request gets the first answer and changes nothing.
@Suite(.serialized, .timeLimit(.minutes(10))) struct KeyedRepliesTests {
    static let plan = ServicePlan(
        name: "tally",
        migrations: [
            Migration(
                1, "tables",
                [
                    "CREATE TABLE runs(id INTEGER PRIMARY KEY, user TEXT NOT NULL)",
                    "CREATE TABLE luck(id INTEGER PRIMARY KEY)",
                ])
        ])

    /// Records the run and answers with its number. A change by `unlucky` is refused until the table `luck` has a row.
    static func build(_ host: ServiceHost, _ routes: inout ServiceRoutes) {
        routes.write(framed: Call<UserDeleted, UserDeleted>("tally.add.v1")) { message, _, transaction in
            _ = try transaction.execute("INSERT INTO runs(user) VALUES (?)", [.text(message.userID)])
            if message.userID == "unlucky", try transaction.rows("SELECT 1 FROM luck").isEmpty {
                throw ParseError(.validationError, "No luck.")
            }
            let run = try transaction.rows("SELECT count(*) FROM runs").first?.int(0) ?? 0
            let answer = UserDeleted.with {
                $0.userID = message.userID
                $0.deletedAt = run
            }
            return try BusReply(
                answer, documents: [[], Array("run \(run)".utf8)],
                forget: Forget.with { $0.userIds = [message.userID] })
        }
    }

    private func withTally(_ body: (BusBench, ServiceHost) async throws -> Void) async throws {
        try await BusBench.with { bench in
            try await body(bench, try await bench.start(Self.plan, Self.build))
        }
    }

    private func runs(_ host: ServiceHost) async throws -> Int64 { try await host.number("SELECT count(*) FROM runs") }

    @Test func aRepetitionGetsTheFirstAnswerByteForByte() async throws {
        try await withTally { bench, host in
            let first = try await bench.ask("tally.add.v1", deletion(of: "ann"), key: "k")
            let again = try await bench.ask("tally.add.v1", deletion(of: "ann"), key: "k")
            #expect(first.documents == [[], Array("run 1".utf8)])
            #expect(again.body == first.body)
            #expect(again.documents == first.documents)
            #expect(first.forget?.userIds == ["ann"])
            #expect(again.forget == first.forget)
            #expect(try await runs(host) == 1)
        }
    }

    /// The key identifies the request: its creator guarantees that equal keys mean equal requests.
    @Test func anotherBodyUnderTheSameKeyIsNotCarriedOut() async throws {
        try await withTally { bench, host in
            let first = try await bench.ask("tally.add.v1", deletion(of: "ann"), key: "k")
            let other = try await bench.ask("tally.add.v1", deletion(of: "bob"), key: "k")
            #expect(other.body == first.body)
            #expect(try await host.number("SELECT count(*) FROM runs WHERE user = 'bob'") == 0)
        }
    }

    @Test func concurrentKeyedRequestsRunOnce() async throws {
        try await withTally { bench, host in
            let bodies = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<40 {
                    group.addTask { try await bench.ask("tally.add.v1", deletion(of: "ann"), key: "k").body }
                }
                return try await group.reduce(into: [[UInt8]]()) { $0.append($1) }
            }
            #expect(bodies.count == 40)
            #expect(Set(bodies).count == 1)
            #expect(try await runs(host) == 1)
        }
    }

    @Test func anotherKeyAndNoKeyAreOtherRequests() async throws {
        try await withTally { bench, host in
            for key in ["a", "b", "", ""] { try await bench.ask("tally.add.v1", deletion(of: "ann"), key: key) }
            #expect(try await runs(host) == 4)
            #expect(try await host.number("SELECT count(*) FROM keyedReplies") == 2)
        }
    }

    /// A refused request changed nothing, so the repetition runs again and may succeed.
    @Test func aRefusalIsNotKept() async throws {
        try await withTally { bench, host in
            let failure = await #expect(throws: BusFailure.self) {
                try await bench.ask("tally.add.v1", deletion(of: "unlucky"), key: "k")
            }
            #expect(failure?.failure.code == 142)
            #expect(try await runs(host) == 0)
            #expect(try await host.number("SELECT count(*) FROM keyedReplies") == 0)
            try await host.store.write { _ = try $0.execute("INSERT INTO luck(id) VALUES (1)") }
            let reply = try await bench.ask("tally.add.v1", deletion(of: "unlucky"), key: "k")
            #expect(reply.documents.last == Array("run 1".utf8))
        }
    }

    @Test func answersOutliveTheProcess() async throws {
        try await withTally { bench, host in
            let first = try await bench.ask("tally.add.v1", deletion(of: "ann"), key: "k")
            try await bench.end(host)
            let next = try await bench.start(Self.plan, Self.build)
            #expect(try await bench.ask("tally.add.v1", deletion(of: "ann"), key: "k").body == first.body)
            #expect(try await runs(next) == 1)
        }
    }
}
