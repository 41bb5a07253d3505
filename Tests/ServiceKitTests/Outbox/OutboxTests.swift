import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import TestSupport
import Testing

/// The outbox over a real bus and a real store: committed messages arrive at least once and count once; uncommitted
/// ones never arrive.
@Suite(.serialized, .timeLimit(.minutes(10))) struct OutboxTests {
    private struct ForcedRollback: Error {}

    private static let sender = ServicePlan(name: "users")

    /// A sender, and the service `mail` with an inbox. The sender's outbox delivery has not started.
    private func withMail(_ body: (BusBench, ServiceHost, Inbox) async throws -> Void) async throws {
        try await BusBench.with { bench in
            let inbox = Inbox()
            try await bench.start(ServicePlan(name: "mail")) { _, routes in inbox.install("mail.note.v1", in: &routes) }
            try await body(bench, try await bench.start(Self.sender), inbox)
        }
    }

    private func isDelivered(_ key: String, by host: ServiceHost) async -> Bool {
        await host.outbox.waitUntilDelivered(key: key, within: .seconds(60), for: nil)
    }

    @Test func aMessageArrivesAsAWriteOfSatchelsOwnUnderItsKey() async throws {
        try await withMail { bench, host, inbox in
            bench.deliver(host)
            try await host.send("mail.note.v1", ["ann"])
            #expect(await isDelivered("ann", by: host))
            let arrival = try #require(inbox.arrivals.first)
            #expect(inbox.users == ["ann"])
            #expect(arrival.envelope.idempotencyKey == "outbox:ann")
            #expect(arrival.envelope.writes)
            #expect(arrival.envelope.principal == .satchel)
            #expect(try await host.number("SELECT count(*) FROM outbox") == 0)
        }
    }

    @Test func whatIsUndoneIsNeverSent() async throws {
        try await withMail { bench, host, inbox in
            bench.deliver(host)
            await #expect(throws: ForcedRollback.self) {
                try await host.store.write { [outbox = host.outbox] transaction in
                    try outbox.add(userCall("mail.note.v1"), deletion(of: "undone"), key: "undone", in: transaction)
                    throw ForcedRollback()
                }
            }
            try await host.send("mail.note.v1", ["ann"])
            #expect(await isDelivered("ann", by: host))
            #expect(inbox.users == ["ann"])
        }
    }

    @Test func theFirstMessageOfAKeyCounts() async throws {
        try await withMail { bench, host, inbox in
            try await host.store.write { [outbox = host.outbox] transaction in
                for user in ["first", "second"] {
                    try outbox.add(userCall("mail.note.v1"), deletion(of: user), key: "same", in: transaction)
                }
            }
            bench.deliver(host)
            #expect(await isDelivered("same", by: host))
            #expect(inbox.users == ["first"])
        }
    }

    /// A batch is sent concurrently, in any order; the next batch follows after it.
    @Test func whatWaitedLongestGoesFirst() async throws {
        try await withMail { bench, host, inbox in
            let users = (0..<150).map { "user \($0)" }
            try await host.send("mail.note.v1", users)
            bench.deliver(host)
            try await eventually("all arrived") { inbox.users.count >= users.count }
            #expect(Set(inbox.users.prefix(64)) == Set(users[..<64]))
            #expect(Set(inbox.users[64..<128]) == Set(users[64..<128]))
            #expect(Set(inbox.users[128...]) == Set(users[128...]))
            #expect(inbox.users.count == users.count)
        }
    }

    @Test func whatAnEarlierProcessLeftIsDelivered() async throws {
        try await withMail { bench, host, inbox in
            try await host.send("mail.note.v1", ["ann", "bob"])
            try await bench.end(host)
            let next = try await bench.start(Self.sender)
            #expect(inbox.users.isEmpty)
            bench.deliver(next)
            #expect(await isDelivered("ann", by: next))
            #expect(await isDelivered("bob", by: next))
            #expect(Set(inbox.arrivals.map(\.envelope.idempotencyKey)) == ["outbox:ann", "outbox:bob"])
            #expect(inbox.users.count == 2)
        }
    }

    /// The receiver dies with the message. Its outcome is unknown, so the next receiver gets it again under the same
    /// key.
    @Test func aReceiverThatDiesWithAMessageIsNotItsEnd() async throws {
        try await BusBench.with { bench in
            let (lost, inbox) = (Inbox(), Inbox())
            let dying = try await bench.startSilent("mail", lost)
            let host = try await bench.start(Self.sender)
            bench.deliver(host)
            try await host.send("mail.note.v1", ["ann"])
            try await eventually("the message is there") { !lost.arrivals.isEmpty }
            dying.stop()
            try await bench.start(ServicePlan(name: "mail")) { _, routes in inbox.install("mail.note.v1", in: &routes) }
            #expect(await isDelivered("ann", by: host))
            #expect(Set(inbox.users) == ["ann"])
            #expect(inbox.arrivals.first?.envelope.idempotencyKey == lost.arrivals.first?.envelope.idempotencyKey)
        }
    }

    /// A sender that dies between the answer and the removal of the message sends it again.
    @Test func aMessageThatComesTwiceCountsOnce() async throws {
        try await BusBench.with { bench in
            let plan = ServicePlan(
                name: "mail", migrations: [Migration(1, "tables", ["CREATE TABLE notes(user TEXT)"])])
            let mail = try await bench.start(plan) { _, routes in
                routes.accept(userCall("mail.note.v1")) { message, _, transaction in
                    _ = try transaction.execute("INSERT INTO notes(user) VALUES (?)", [.text(message.userID)])
                }
            }
            let host = try await bench.start(Self.sender)
            bench.deliver(host)
            for _ in 0..<2 {
                try await host.send("mail.note.v1", ["ann"])
                #expect(await isDelivered("ann", by: host))
            }
            #expect(try await host.number("SELECT count(*) FROM outbox") == 0)
            #expect(try await mail.number("SELECT count(*) FROM notes") == 1)
        }
    }

    /// Messages accepted by several services are removed in one commit, or in two if a service is slow.
    @Test func outcomesOfSeveralServicesShareACommit() async throws {
        try await BusBench.with { bench in
            let inbox = Inbox()
            let services = ["analytics", "bag", "mail", "payments", "push"]
            for service in services {
                try await bench.start(ServicePlan(name: service)) { _, routes in
                    inbox.install("\(service).note.v1", in: &routes)
                }
            }
            let host = try await bench.start(Self.sender)
            bench.deliver(host)
            let commits = "SELECT generation FROM storeIdentity"
            // One commit adds them all.
            let most: Int64 = 1 + 2
            // The fewest of several rounds: on a busy machine the services answer far apart.
            var fewest = Int64.max
            for round in 1...20 where fewest > most {
                let before = try await host.number(commits)
                try await host.store.write { [outbox = host.outbox] transaction in
                    for service in services {
                        try outbox.add(
                            userCall("\(service).note.v1"), deletion(of: service), key: "\(service) \(round)",
                            in: transaction)
                    }
                }
                try await eventually("all are struck off") {
                    try await host.number("SELECT count(*) FROM outbox") == 0
                }
                let after = try await host.number(commits)
                fewest = min(fewest, after - before)
            }
            #expect(Set(inbox.users) == Set(services))
            #expect(fewest <= most)
        }
    }

    @Test func waitingForWhatIsNotDeliveredEnds() async throws {
        try await withMail { bench, host, _ in
            try await host.send("mail.note.v1", ["ann"])
            #expect(await !host.outbox.waitUntilDelivered(key: "ann", within: .milliseconds(50), for: nil))
            #expect(await host.outbox.waitUntilDelivered(key: "nobody", within: .milliseconds(50), for: nil))
            bench.deliver(host)
            #expect(await isDelivered("ann", by: host))
        }
    }
}
