import Foundation
import Logging
import MessageBus
import Messages
import Synchronization
import Testing

/// Forget orders of a service, over real sockets: two brokers and `users` in one process.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ForgettingTests {
    /// Answers `.revoke.` kinds with something to forget.
    private final class Users: LaneHandler {
        func handle(_ request: ServiceRequest) {
            let forget = request.kind.contains(".revoke.") ? Forget.with { $0.userIds = ["ann"] } : nil
            request.reply(.success(BusReply(body: [42], forget: forget)))
        }
    }

    /// A gateway that caches data of `users`.
    private final class Gateway: Sendable {
        let lease = CacheLease()
        private let told = Mutex<[@Sendable () -> Void]>([])
        private let isSlow: Bool
        let count = Mutex(0)

        /// - Parameter isSlow: delays its confirmation until the test triggers it.
        init(isSlow: Bool) { self.isSlow = isSlow }

        func broker(_ endpoint: String) async throws -> Broker {
            let broker = try Broker(
                configuration: BusConfiguration(endpoint: endpoint), logger: ForgettingTests.logger,
                leases: [LeasedCache(service: "users", lease: lease, all: .with { $0.everything = true })],
                onInvalidation: { forget, _, done in
                    guard !forget.everything else { return done() }
                    self.count.withLock { $0 += 1 }
                    if self.isSlow { self.told.withLock { $0.append(done) } } else { done() }
                })
            try await broker.start()
            return broker
        }

        func hasForgotten() { for done in told.withLock({ $0 }) { done() } }
    }

    private static let logger: Logger = {
        var logger = Logger(label: "forgetting-tests")
        logger.logLevel = .critical
        return logger
    }()
    private let folder = "/tmp/satchel-forgetting-\(UUID().uuidString.prefix(8))"

    private func path(_ number: Int) -> String { "ipc://\(folder)/\(number).ipc" }

    private func users(_ endpoints: [String]) async throws -> BusEndpoint {
        let users = try BusEndpoint(
            configuration: BusConfiguration(gateways: GatewayList(endpoints)), service: "users", replica: "users-1",
            release: "test", laneCount: 2, logger: Self.logger)
        try await users.start { _ in Users() }
        users.setWriter(true)
        return users
    }

    private func revoke() -> BusRequest {
        var request = BusRequest(kind: "users.revoke.v1", body: [], timeout: .seconds(30))
        request.writes = true
        return request
    }

    private func until(_ isTrue: () async -> Bool) async throws {
        while !(await isTrue()) { try await Task.sleep(for: .milliseconds(5)) }
    }

    private func withGateways(
        _ gateways: [Gateway], _ body: ([Broker]) async throws -> Void
    ) async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var brokers: [Broker] = []
        for (index, gateway) in gateways.enumerated() { brokers.append(try await gateway.broker(path(index + 1))) }
        let users = try await users(gateways.indices.map { path($0 + 1) })
        for gateway in gateways { try await until { gateway.lease.isValid } }
        try await body(brokers)
        users.stop()
        for broker in brokers { broker.stop() }
    }

    @Test func anAnswerLeavesWhenEachGatewayHasForgotten() async throws {
        let (first, second) = (Gateway(isSlow: false), Gateway(isSlow: true))
        try await withGateways([first, second]) { brokers in
            let isAnswered = Mutex(false)
            let call = Task {
                let reply = try await brokers[0].call(revoke())
                isAnswered.withLock { $0 = true }
                return reply
            }
            for gateway in [first, second] { try await until { gateway.count.withLock { $0 } > 0 } }
            let early = isAnswered.withLock { $0 }
            #expect(!early || !second.lease.isValid)
            second.hasForgotten()
            let reply = try await call.value
            #expect(reply.forget?.userIds == ["ann"])
        }
    }

    /// The call continues exactly when the lease of a silent gateway ends.
    @Test func aSilentGatewayBelievesNothingWhenTheCallReturns() async throws {
        let (first, second) = (Gateway(isSlow: false), Gateway(isSlow: true))
        try await withGateways([first, second]) { brokers in
            _ = try await brokers[0].call(revoke())
            #expect(second.count.withLock { $0 } > 0)
            #expect(!second.lease.isValid)
            // A lease also ends while this process stands still, and is renewed.
            try await until { first.lease.isValid }
            second.hasForgotten()
            try await until { second.lease.isValid }
        }
    }

    @Test func theOnlyGatewayIsToldByTheReplyAlone() async throws {
        let only = Gateway(isSlow: true)
        try await withGateways([only]) { brokers in
            let reply = try await brokers[0].call(revoke())
            #expect(reply.forget?.userIds == ["ann"])
            #expect(only.count.withLock { $0 } == 0)
            try await until { only.lease.isValid }
        }
    }
}
