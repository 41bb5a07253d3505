import Foundation
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import TestSupport
import Testing

/// Several outbox messages in one bus message: each is delivered, counted and refused as if it were sent alone.
@Suite(.serialized, .timeLimit(.minutes(10))) struct OutboxTravelTests {
    private static let sender = ServicePlan(name: "users")

    /// A service that lists the messages in the order in which it stored them.
    private static let mail = ServicePlan(
        name: "mail",
        migrations: [Migration(1, "tables", ["CREATE TABLE notes(id INTEGER PRIMARY KEY, user TEXT NOT NULL)"])])

    private static func build(_ host: ServiceHost, _ routes: inout ServiceRoutes) {
        routes.accept(userCall("mail.note.v1")) { message, _, transaction in
            _ = try transaction.execute("INSERT INTO notes(user) VALUES (?)", [.text(message.userID)])
            if message.userID.hasPrefix("bad") { throw ParseError(.validationError, "Not this one.") }
        }
    }

    private func notes(_ mail: ServiceHost) async throws -> [String] {
        try await mail.store.read {
            try $0.rows("SELECT user FROM notes ORDER BY id").map { try $0.text("user") }
        }
    }

    private func untilNothingIsLeft(_ host: ServiceHost) async throws {
        try await eventually("all are struck off") { try await host.number("SELECT count(*) FROM outbox") == 0 }
    }

    @Test func whatWaitsTravelsTogetherAndIsStoredInItsOrder() async throws {
        try await BusBench.with { bench in
            let mail = try await bench.start(Self.mail, Self.build)
            let host = try await bench.start(Self.sender)
            let users = (0..<150).map { "user \($0)" }
            try await host.send("mail.note.v1", users)
            bench.deliver(host)
            try await untilNothingIsLeft(host)
            #expect(try await notes(mail) == users)
            // Three requests with 64, 64 and 22 messages.
            let requests = await bench.broker.requestsByReplica
            #expect(requests[mail.configuration.replica] == 3)
        }
    }

    @Test func oneThatIsRefusedHoldsUpNoOtherAndTravelsAloneThen() async throws {
        try await BusBench.with { bench in
            let mail = try await bench.start(Self.mail, Self.build)
            let host = try await bench.start(Self.sender)
            try await host.send("mail.note.v1", ["ann", "bad", "bob"])
            try await host.send("mail.unknown.v1", ["later"])
            try await host.send("mail.note.v1", ["cid"])
            bench.deliver(host)
            let refused = "SELECT count(*) FROM outbox WHERE attempts > 0 AND lastProblem LIKE"
            try await eventually("both refusals are noted") {
                let bad = try await host.number("\(refused) '142:%' AND key = 'outbox:bad'")
                let unknown = try await host.number("\(refused) '108:%' AND key = 'outbox:later'")
                return bad + unknown == 2
            }
            #expect(try await notes(mail) == ["ann", "bob", "cid"])
            #expect(try await host.number("SELECT count(*) FROM outbox") == 2)
            try await eventually("each is sent again, alone") {
                try await host.number("SELECT count(*) FROM outbox WHERE attempts >= 2") == 2
            }
            #expect(try await notes(mail) == ["ann", "bob", "cid"])
        }
    }

    @Test func eachHasASpanWithItsOwnOutcome() async throws {
        let (spans, trace) = (SpanQueue(), TraceContext(isSampled: true))
        Tracing.record(into: spans)
        try await BusBench.with { bench in
            try await bench.start(Self.mail, Self.build)
            let host = try await bench.start(Self.sender)
            try await host.send("mail.note.v1", ["ann", "bad", "bob"])
            try await host.store.write { transaction in
                _ = try transaction.execute("UPDATE outbox SET trace = ?", [.text(trace.text)])
            }
            bench.deliver(host)
            var delivered: [JSON] = []
            try await eventually("each has a span") {
                let all = TraceSpan.export(spans.take(atMost: 4096), of: [:])
                delivered += (all.at("resourceSpans", 0, "scopeSpans", 0, "spans")?.arrayValue ?? []).filter {
                    $0["traceId"] == .string(trace.traceId) && $0["name"] == "deliver mail.note.v1"
                }
                return delivered.count >= 3
            }
            #expect(delivered.count { $0["status"] == nil } == 2, "\(delivered)")
        }
    }

    /// A sender that dies between the answer and their removal sends them again, possibly grouped differently.
    @Test func whatComesTwiceCountsOnce() async throws {
        try await BusBench.with { bench in
            let mail = try await bench.start(Self.mail, Self.build)
            let host = try await bench.start(Self.sender)
            bench.deliver(host)
            for users in [["ann", "bob", "cid"], ["bob", "cid", "dan"], ["dan"]] {
                try await host.send("mail.note.v1", users)
                try await untilNothingIsLeft(host)
            }
            #expect(try await notes(mail) == ["ann", "bob", "cid", "dan"])
        }
    }

    /// The receiver dies with them. Their outcome is unknown, so the next receiver gets them again.
    @Test func aReceiverThatDiesWithThemIsNotTheirEnd() async throws {
        try await BusBench.with { bench in
            let lost = Inbox()
            let dying = try await bench.startSilent("mail", lost)
            let host = try await bench.start(Self.sender)
            bench.deliver(host)
            try await host.send("mail.note.v1", ["ann", "bob", "cid"])
            try await eventually("they are there") { !lost.arrivals.isEmpty }
            #expect(lost.arrivals.map(\.envelope.kind) == [DeliveryCalls(to: "mail").deliver.kind])
            dying.stop()
            let mail = try await bench.start(Self.mail, Self.build)
            try await untilNothingIsLeft(host)
            #expect(try await notes(mail).sorted() == ["ann", "bob", "cid"])
        }
    }

    @Test func aReceiverOfAnEarlierReleaseGetsThemOneByOne() async throws {
        try await BusBench.with { bench in
            let inbox = Inbox()
            try await bench.start(ServicePlan(name: "mail")) { _, routes in
                inbox.install("mail.note.v1", in: &routes)
                routes.task(framed: DeliveryCalls(to: "mail").deliver) { _, request in
                    throw BusFailure(code: 108, "Unknown kind \(request.kind).")
                }
            }
            let host = try await bench.start(Self.sender)
            try await host.send("mail.note.v1", ["ann", "bob", "cid"])
            bench.deliver(host)
            try await untilNothingIsLeft(host)
            #expect(inbox.users.sorted() == ["ann", "bob", "cid"])
            #expect(Set(inbox.arrivals.map(\.envelope.idempotencyKey)) == ["outbox:ann", "outbox:bob", "outbox:cid"])
        }
    }

    // MARK: The receiver

    private static func note(_ user: String, kind: String = "mail.note.v1") throws -> OutboxMessage {
        let body: [UInt8] = try deletion(of: user).serializedBytes()
        return OutboxMessage.with {
            $0.kind = kind
            $0.key = "outbox:\(user)"
            $0.body = Data(body)
        }
    }

    @Test func eachHasAnOutcomeOfItsOwn() async throws {
        try await BusBench.with { bench in
            let mail = try await bench.start(Self.mail, Self.build)
            let unreadable = OutboxMessage.with {
                $0.kind = "mail.note.v1"
                $0.key = "outbox:unreadable"
                $0.body = Data([0xFF])
            }
            let messages = try [
                Self.note("ann"), Self.note("bad"), unreadable, Self.note("odd", kind: "mail.odd.v1"), Self.note("bob"),
            ]
            let request = DeliverRequest.with { $0.messages = messages }
            let reply = try await bench.ask(DeliveryCalls(to: "mail").deliver.kind, request, key: "parcel")
            let outcomes = try DeliverReply(serializedBytes: reply.body).outcomes
            #expect(outcomes.map(\.failure.code) == [0, 142, 107, 108, 0])
            #expect(outcomes.map(\.hasFailure) == [false, true, true, true, false])
            #expect(try await notes(mail) == ["ann", "bob"])
        }
    }

    @Test func noneTooManyAndParcelsInParcelsAreRefused() async throws {
        try await BusBench.with { bench in
            let mail = try await bench.start(Self.mail, Self.build)
            let kind = DeliveryCalls(to: "mail").deliver.kind
            let one = try Self.note("ann")
            let nested = try Self.note("bob", kind: kind)
            for messages in [[], Array(repeating: one, count: OutboxParcels.messagesMax + 1), [one, nested]] {
                let request = DeliverRequest.with { $0.messages = messages }
                let failure = await #expect(throws: BusFailure.self) {
                    try await bench.ask(kind, request, key: "parcel")
                }
                #expect(failure?.failure.code == 107)
            }
            #expect(try await notes(mail) == [])
        }
    }
}
