import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit
import TestSupport
import Testing

/// Messages that are refused or not answered: they are sent again after a pause, and hold up nobody.
@Suite(.serialized, .timeLimit(.minutes(10))) struct OutboxRetryTests {
    private static let sender = ServicePlan(name: "users")

    private func withMail(_ body: (BusBench, ServiceHost, Inbox) async throws -> Void) async throws {
        try await BusBench.with { bench in
            let inbox = Inbox()
            try await bench.start(ServicePlan(name: "mail")) { _, routes in inbox.install("mail.note.v1", in: &routes) }
            try await body(bench, try await bench.start(Self.sender), inbox)
        }
    }

    @Test(arguments: [
        (1, 500), (2, 1000), (3, 2000), (7, 32_000), (8, 60_000), (12, 60_000), (100_000, 60_000), (Int.max, 60_000),
    ])
    func pausesDoubleFromHalfASecondToAMinute(attempts: Int, milliseconds: Int) {
        #expect(Outbox.pause(afterAttempts: attempts) == .milliseconds(milliseconds))
    }

    @Test func aRefusedMessageIsSentAgainAfterItsPauses() async throws {
        try await withMail { bench, host, inbox in
            inbox.refuse("ann", times: 2)
            bench.deliver(host)
            try await host.send("mail.note.v1", ["ann"])
            #expect(await host.outbox.waitUntilDelivered(key: "ann", within: .seconds(60)))
            let arrivals = inbox.arrivals
            try #require(arrivals.count == 3)
            #expect(Set(arrivals.map(\.envelope.idempotencyKey)) == ["outbox:ann"])
            // Pauses count whole milliseconds of the clock on the wall.
            #expect(arrivals[1].time - arrivals[0].time >= .milliseconds(490))
            #expect(arrivals[2].time - arrivals[1].time >= .milliseconds(990))
        }
    }

    /// More of them than one batch has, all older than the good one.
    @Test func messagesThatAreAlwaysRefusedHoldUpNoOthers() async throws {
        try await withMail { bench, host, inbox in
            let poisoned = (0..<70).map { "poisoned \($0)" }
            for user in poisoned { inbox.refuse(user, times: .max) }
            try await host.send("mail.note.v1", poisoned)
            try await host.send("mail.note.v1", ["good"])
            bench.deliver(host)
            #expect(await host.outbox.waitUntilDelivered(key: "good", within: .seconds(60)))
            try await host.send("mail.note.v1", ["late"])
            #expect(await host.outbox.waitUntilDelivered(key: "late", within: .seconds(60)))
            #expect(inbox.arrivals(of: "good").count == 1)
            #expect(inbox.arrivals(of: "late").count == 1)
            try await eventually("each refusal is noted") {
                try await host.number("SELECT count(*) FROM outbox WHERE attempts > 0 AND lastProblem LIKE '142:%'")
                    == Int64(poisoned.count)
            }
            #expect(try await host.number("SELECT count(*) FROM outbox") == Int64(poisoned.count))
        }
    }

    /// Other services' messages go on while one service says nothing: its first answer is still waited for.
    @Test func aServiceThatSaysNothingDelaysNoOther() async throws {
        try await withMail { bench, host, inbox in
            let stuck = Inbox()
            _ = try await bench.startSilent("push", stuck)
            bench.deliver(host)
            try await host.send("push.note.v1", ["ann"])
            try await eventually("push has its message") { !stuck.arrivals.isEmpty }
            try await host.send("mail.note.v1", ["bob"])
            #expect(await host.outbox.waitUntilDelivered(key: "bob", within: .seconds(60)))
            #expect(inbox.users == ["bob"])
            let untried = "SELECT count(*) FROM outbox WHERE kind = 'push.note.v1' AND attempts = 0"
            #expect(try await host.number(untried) == 1)
        }
    }
}
