import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit
import TestSupport
import Testing

/// Messages that are refused or unanswered are retried after a pause, and delay no others.
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
            #expect(await host.outbox.waitUntilDelivered(key: "ann", within: .seconds(60), for: nil))
            let arrivals = inbox.arrivals
            try #require(arrivals.count == 3)
            #expect(Set(arrivals.map(\.envelope.idempotencyKey)) == ["outbox:ann"])
            // Pauses are stored in whole milliseconds of the wall clock.
            #expect(arrivals[1].time - arrivals[0].time >= .milliseconds(490))
            #expect(arrivals[2].time - arrivals[1].time >= .milliseconds(990))
        }
    }

    /// More of them than fit in one batch, all older than the good message.
    @Test func messagesThatAreAlwaysRefusedHoldUpNoOthers() async throws {
        try await withMail { bench, host, inbox in
            let poisoned = (0..<70).map { "poisoned \($0)" }
            for user in poisoned { inbox.refuse(user, times: .max) }
            try await host.send("mail.note.v1", poisoned)
            try await host.send("mail.note.v1", ["good"])
            bench.deliver(host)
            #expect(await host.outbox.waitUntilDelivered(key: "good", within: .seconds(60), for: nil))
            try await host.send("mail.note.v1", ["late"])
            #expect(await host.outbox.waitUntilDelivered(key: "late", within: .seconds(60), for: nil))
            #expect(inbox.arrivals(of: "good").count == 1)
            #expect(inbox.arrivals(of: "late").count == 1)
            try await eventually("each refusal is noted") {
                try await host.number("SELECT count(*) FROM outbox WHERE attempts > 0 AND lastProblem LIKE '142:%'")
                    == Int64(poisoned.count)
            }
            #expect(try await host.number("SELECT count(*) FROM outbox") == Int64(poisoned.count))
        }
    }

    @Test func aClockThatIsSetBackHoldsNoMessage() async throws {
        try await withMail { bench, host, inbox in
            try await host.send("mail.note.v1", ["ann", "bob"])
            try await host.store.write { transaction in
                let ahead = transaction.now.advanced(by: .seconds(40 * 86_400))
                _ = try transaction.execute("UPDATE outbox SET dueAt = ?", [.int(ahead.milliseconds)])
            }
            try await host.shortenWaits()
            bench.deliver(host)
            for user in ["ann", "bob"] {
                #expect(await host.outbox.waitUntilDelivered(key: user, within: .seconds(60), for: nil))
            }
            #expect(Set(inbox.users) == ["ann", "bob"])
        }
    }

    @Test func aMessageThatIsAlwaysRefusedIsParkedUntilTheNextStart() async throws {
        try await withMail { bench, host, inbox in
            inbox.refuse("ann", times: .max)
            try await host.send("mail.note.v1", ["ann", "bob"])
            try await host.store.write { transaction in
                _ = try transaction.execute(
                    "UPDATE outbox SET refusals = ?", [.int(ParkedMessages.refusalsMax - 1)])
            }
            let parking = Task { await host.parking.run() }
            defer { parking.cancel() }
            bench.deliver(host)
            try await eventually("the message is parked") {
                try await host.number("SELECT count(*) FROM parkedMessages WHERE problem LIKE '142:%'") == 1
            }
            #expect(try await host.number("SELECT count(*) FROM outbox") == 0)
            #expect(inbox.arrivals(of: "bob").count == 1)
            try await eventually("the gateway knows") {
                bench.broker.services["users"]?.warning == "messages that their receivers refuse: 1"
            }
            try await bench.end(host)
            inbox.refuse("ann", times: 0)
            let next = try await bench.start(Self.sender)
            let nextParking = Task { await next.parking.run() }
            defer { nextParking.cancel() }
            bench.deliver(next)
            try await eventually("the message is sent again") { inbox.arrivals(of: "ann").count == 2 }
            #expect(inbox.arrivals(of: "ann").map(\.envelope.idempotencyKey) == ["outbox:ann", "outbox:ann"])
            try await eventually("nothing is left") {
                try await next.number(
                    "SELECT (SELECT count(*) FROM parkedMessages) + (SELECT count(*) FROM outbox)") == 0
            }
        }
    }

    @Test func onlyARefusalOfTheReceiverIsOne() {
        #expect(ParkedMessages.isRefusal(BusFailure(code: 142, "Not this one.")))
        #expect(ParkedMessages.isRefusal(BusFailure.unknown(kind: "mail.newer.v1")))
        for passing in [
            BusFailure.unavailable("No mail."), BusFailure(code: 1, "Fault"), BusFailure(code: 124, "Late"),
            BusFailure(code: 142, "Later.", retriable: true), .tooManyRequests("Busy", retryAfterSeconds: 1),
        ] { #expect(!ParkedMessages.isRefusal(passing), "\(passing)") }
        #expect(!ParkedMessages.isRefusal(CancellationError()))
    }

    /// Messages to other services continue while one service is silent and its first answer is still awaited.
    @Test func aServiceThatSaysNothingDelaysNoOther() async throws {
        try await withMail { bench, host, inbox in
            let stuck = Inbox()
            _ = try await bench.startSilent("push", stuck)
            bench.deliver(host)
            try await host.send("push.note.v1", ["ann"])
            try await eventually("push has its message") { !stuck.arrivals.isEmpty }
            try await host.send("mail.note.v1", ["bob"])
            #expect(await host.outbox.waitUntilDelivered(key: "bob", within: .seconds(60), for: nil))
            #expect(inbox.users == ["bob"])
            let untried = "SELECT count(*) FROM outbox WHERE kind = 'push.note.v1' AND attempts = 0"
            #expect(try await host.number(untried) == 1)
        }
    }
}
