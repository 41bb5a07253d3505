import Logging
import Messages
import ObjectStore
import ParseProtocol
import PushService
import ServiceKit
import ServiceSupport
import Synchronization
import TestSupport
import Testing

/// Deliveries that the provider refuses wait for an operator, as one item for all devices of a push.
@Suite(.timeLimit(.minutes(5))) struct ParkedDeliveryTests {
    private final class Provider: PushProvider {
        private let answer: Mutex<ProviderAnswer>

        init(reason: String) { answer = Mutex(.refused(status: 400, reason: reason, retryAfter: nil)) }

        func send(_ delivery: Delivery) async -> ProviderAnswer { answer.withLock { $0 } }
        func accept() { answer.withLock { $0 = .accepted } }
    }

    private typealias Fixture = PushStoreTests.Fixture

    /// Runs the sender while `body` runs.
    private func sending(
        _ fixture: Fixture, refusedFor reason: String = "BadTopic",
        _ body: (_ provider: Provider, _ kind: ParkedKind) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let provider = Provider(reason: reason)
        let sender = PushSender(
            store: fixture.store, provider: provider, background: BackgroundGroup(), logger: logger)
        let work = Task { await sender.work.run() }
        defer { work.cancel() }
        try await body(provider, ParkedDeliveries.kind { sender.wake() })
    }

    private func parked(_ kind: ParkedKind, _ fixture: Fixture) async throws -> [ParkedKind.Item] {
        let (items, count) = try await fixture.store.read { (try kind.list(10, $0), try kind.count($0)) }
        #expect(count == Int64(items.count))
        return items
    }

    private func status(_ id: String, _ fixture: Fixture) async throws -> JSON {
        try await fixture.store.read { try JSON(parsing: $0.get(Pushes.statusClass, id, caller: .master)) }
    }

    @Test func aRefusedPushIsSentAgain() async throws {
        let fixture = try await Fixture()
        try await fixture.install(3)
        let id = try await fixture.push()
        _ = try await fixture.spread(id)
        try await sending(fixture) { provider, kind in
            try await eventually("all are refused") {
                try await fixture.count("SELECT count(*) FROM parkedDeliveries") == 3
            }
            try await eventually("the push ended") { try await status(id, fixture)["status"] == "failed" }
            let item = try #require(try await parked(kind, fixture).first)
            #expect(item.id == "\(id):BadTopic")
            #expect(item.reason == "BadTopic")
            #expect(item.more["devices"] == 3)
            #expect(item.attempts == 1)
            provider.accept()
            _ = try await fixture.store.write { try kind.retry(item.id, $0) }
            try await eventually("all are sent") { try await status(id, fixture)["status"] == "succeeded" }
            let ended = try await status(id, fixture)
            #expect(ended["numSent"] == 3)
            #expect(ended["numFailed"] == 0)
            #expect(try await parked(kind, fixture).isEmpty)
            #expect(try await fixture.store.write { try kind.retry(item.id, $0) } == nil)
        }
    }

    @Test func aLongReasonIsCutSoThatTheItemCanBeNamed() async throws {
        let fixture = try await Fixture()
        try await fixture.install(2)
        let id = try await fixture.push()
        _ = try await fixture.spread(id)
        try await sending(fixture, refusedFor: String(repeating: "ü", count: 2000)) { provider, kind in
            try await eventually("the push ended") { try await status(id, fixture)["status"] == "failed" }
            let item = try #require(try await parked(kind, fixture).first)
            #expect(item.id.utf8.count < 1000)
            provider.accept()
            _ = try await fixture.store.write { try kind.retry(item.id, $0) }
            try await eventually("all are sent") { try await status(id, fixture)["numSent"] == 2 }
            #expect(try await status(id, fixture)["numFailed"] == 0)
        }
    }

    @Test func oldRowsFarApartDoNotEndTheParking() async throws {
        let fixture = try await Fixture()
        try await fixture.store.write { transaction in
            for id: Int64 in [1, 20_000] {
                try transaction.execute(
                    """
                    INSERT INTO parkedDeliveries(id, name, push, installation, deviceType, token, attempts, problem,
                    parkedAt) VALUES (?, 'n', 'old', 'i', 'ios', 't', 1, 'BadTopic', ?)
                    """, [.int(id), .int(transaction.now.milliseconds)])
            }
        }
        try await fixture.install(2)
        let id = try await fixture.push()
        _ = try await fixture.spread(id)
        try await sending(fixture) { _, kind in
            try await eventually("the push ended") { try await status(id, fixture)["status"] == "failed" }
            #expect(try await parked(kind, fixture).contains { $0.id == "\(id):BadTopic" })
        }
    }

    @Test func aDroppedPushStaysCountedAsFailed() async throws {
        let fixture = try await Fixture()
        try await fixture.install(2)
        let id = try await fixture.push()
        _ = try await fixture.spread(id)
        try await sending(fixture) { _, kind in
            try await eventually("the push ended") { try await status(id, fixture)["status"] == "failed" }
            let item = try #require(try await parked(kind, fixture).first)
            #expect(try await fixture.store.write { try kind.drop(item.id, $0) }?.id == item.id)
            #expect(try await fixture.store.write { try kind.drop(item.id, $0) } == nil)
            #expect(try await parked(kind, fixture).isEmpty)
            #expect(try await status(id, fixture)["numFailed"] == 2)
        }
    }

    @Test func aDeletedAccountLeavesNothing() async throws {
        let fixture = try await Fixture()
        try await fixture.install(2, ["user": .pointer("_User", "ada1234567")])
        try await fixture.store.write { transaction in
            try Notifications.add(
                OrderMade.with {
                    $0.orderID = "o1"
                    $0.userID = "ada1234567"
                }, in: transaction)
        }
        try await sending(fixture) { _, kind in
            try await eventually("both are refused") {
                try await fixture.count("SELECT count(*) FROM parkedDeliveries") == 2
            }
            #expect(try await parked(kind, fixture).map(\.id) == [":BadTopic"])
            try await fixture.store.write { try Notifications.forget("ada1234567", in: $0) }
            #expect(try await parked(kind, fixture).isEmpty)
        }
    }
}
