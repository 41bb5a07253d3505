import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceContextModule
import ServiceKit
import TestSupport
import Testing

/// Operators see the messages that a receiver refuses for good, and have them sent again or drop them.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ParkedMessageTests {
    private static let sender = ServicePlan(name: "users")
    private static let admin = Principal.with {
        $0.userID = "adm1234567"
        $0.roles = [OperatorArea.admins.role]
    }
    private static let developer = Principal.with {
        $0.userID = "dev1234567"
        $0.roles = [OperatorArea.developers.role]
    }

    private static let trace = TraceContext(isSampled: true)

    /// A service whose message about ann is parked.
    private func withParked(_ body: (BusBench, ServiceHost, Inbox) async throws -> Void) async throws {
        try await BusBench.with { bench in
            let inbox = Inbox()
            try await bench.start(ServicePlan(name: "mail")) { _, routes in inbox.install("mail.note.v1", in: &routes) }
            let host = try await bench.start(Self.sender)
            inbox.refuse("ann", times: .max)
            let request = RequestTrace(requestId: "r", context: Self.trace)
            try await ServiceContext.$current.withValue(request.serviceContext) {
                try await host.send("mail.note.v1", ["ann"])
            }
            try await host.store.write { transaction in
                _ = try transaction.execute("UPDATE outbox SET refusals = ?", [.int(ParkedMessages.refusalsMax - 1)])
            }
            bench.deliver(host)
            try await eventually("the message is parked") { try await Self.parked(host) == 1 }
            try await body(bench, host, inbox)
        }
    }

    private static func parked(_ host: ServiceHost) async throws -> Int64 {
        try await host.number("SELECT count(*) FROM parkedMessages")
    }

    private static func ask(
        _ bench: BusBench, _ verb: ParkedVerb, _ parameters: JSON = [:], as principal: Principal = developer
    ) async throws -> JSON {
        let reply = try await bench.ask(
            ObjectCalls(of: "users").parked.kind, FunctionRequest.with { $0.name = verb.rawValue },
            key: verb == .list ? nil : Names.random(12), documents: [parameters.serialized], as: principal)
        return try JSON(parsing: reply.documents.first ?? [])
    }

    private static func refusal(_ work: () async throws -> Void) async -> Int? {
        do {
            try await work()
            return nil
        } catch let error as BusFailure {
            return Int(error.failure.code)
        } catch {
            return -1
        }
    }

    private static func item(_ bench: BusBench) async throws -> JSON {
        let listed = try await ask(bench, .list)
        #expect(listed["counts"] == ["message": 1])
        let item = try #require(listed["items"]?.arrayValue?.first)
        return ["kind": "message", "id": item["id"] ?? .null]
    }

    @Test func onlyTheAreaThatOwnsItSeesAndChangesIt() async throws {
        try await withParked { bench, host, _ in
            let listed = try await Self.ask(bench, .list)
            let item = try #require(listed["items"]?.arrayValue?.first)
            #expect(item["kind"] == "message")
            #expect(item["about"] == "mail.note.v1 ann")
            #expect(item["reason"]?.stringValue?.contains("Not this one.") == true)
            #expect(item["attempts"] == .int(ParkedMessages.refusalsMax))
            let support = Principal.with {
                $0.userID = "sup1234567"
                $0.roles = [OperatorArea.support.role]
            }
            #expect(try await Self.ask(bench, .list, as: support) == ["items": [], "counts": [:]])
            let wanted: JSON = ["kind": "message", "id": item["id"] ?? .null]
            #expect(
                await Self.refusal { _ = try await Self.ask(bench, .drop, wanted) } == 119, "A message may move money.")
            for (verb, owner) in [(ParkedVerb.retry, Self.developer), (.drop, Self.admin)] {
                #expect(await Self.refusal { _ = try await Self.ask(bench, verb, wanted, as: support) } == 119)
                for wrong: JSON in [["kind": "letter", "id": "1"], ["kind": "message"]] {
                    #expect(await Self.refusal { _ = try await Self.ask(bench, verb, wrong, as: owner) } == 142)
                }
                for id in ["0", "x"] {
                    let unknown: JSON = ["kind": "message", "id": .string(id)]
                    #expect(await Self.refusal { _ = try await Self.ask(bench, verb, unknown, as: owner) } == 101)
                }
            }
            #expect(try await Self.parked(host) == 1)
        }
    }

    @Test func aRetriedMessageArrivesAndTheRetryIsNoted() async throws {
        try await withParked { bench, host, inbox in
            inbox.refuse("ann", times: 0)
            _ = try await Self.ask(bench, .retry, try await Self.item(bench))
            try await eventually("it arrived") { inbox.arrivals(of: "ann").count == 2 }
            try await eventually("it is gone") {
                try await host.number("SELECT count(*) FROM outbox WHERE kind = 'mail.note.v1'") == 0
            }
            #expect(try await Self.parked(host) == 0)
            #expect(Set(inbox.arrivals(of: "ann").map(\.envelope.idempotencyKey)) == ["outbox:ann"])
            let traces = inbox.arrivals(of: "ann").map { TraceContext($0.envelope.traceParent)?.traceId }
            #expect(traces == [Self.trace.traceId, Self.trace.traceId], "The operator's request is not its cause.")
            #expect(try await host.number("SELECT count(*) FROM outbox WHERE kind = 'users.audit.v1'") == 1)
        }
    }

    @Test func aParkedMessageIsNotDelivered() async throws {
        try await withParked { _, host, _ in
            #expect(await !host.outbox.waitUntilDelivered(key: "ann", within: .milliseconds(50), for: nil))
        }
    }

    @Test func aRetriedMessageThatIsRefusedAgainIsParkedAtOnce() async throws {
        try await withParked { bench, host, inbox in
            _ = try await Self.ask(bench, .retry, try await Self.item(bench))
            try await eventually("it is back") {
                let parked = try await Self.parked(host)
                return inbox.arrivals(of: "ann").count == 2 && parked == 1
            }
        }
    }

    @Test func aDroppedMessageIsGoneAndOthersWentOn() async throws {
        try await withParked { bench, host, inbox in
            try await host.send("mail.note.v1", ["bob"])
            #expect(await host.outbox.waitUntilDelivered(key: "bob", within: .seconds(60), for: nil))
            let item = try await Self.item(bench)
            _ = try await Self.ask(bench, .drop, item, as: Self.admin)
            #expect(try await Self.parked(host) == 0)
            #expect(await Self.refusal { _ = try await Self.ask(bench, .drop, item, as: Self.admin) } == 101)
            #expect(inbox.arrivals(of: "ann").count == 1)
            #expect(try await host.number("SELECT count(*) FROM outbox WHERE kind = 'users.audit.v1'") == 1)
        }
    }
}
