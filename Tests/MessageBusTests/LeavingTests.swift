import Foundation
import Logging
import MessageBus
import Messages
import Synchronization
import Testing

/// A service's goodbye: the service may end when the gateway has every answer, and not before.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LeavingTests {
    /// Holds the requests until the test triggers the answers.
    private final class Keeper: LaneHandler {
        private let kept: Kept
        init(_ kept: Kept) { self.kept = kept }

        func handle(_ request: ServiceRequest) { kept.requests.withLock { $0.append(request) } }
    }

    private final class Kept: Sendable {
        let requests = Mutex<[ServiceRequest]>([])
        var count: Int { requests.withLock { $0.count } }

        func answer() {
            for request in requests.withLock({ $0 }) { request.reply(.success(BusReply(body: request.body))) }
        }
    }

    /// A gateway that sends a request to the first lane that says hello, and confirms goodbyes slowly.
    private final class FalseGateway: Sendable {
        private struct State {
            var hasAnswer = false
            var hasSaidSo = false
            var isStopped = false
        }

        private let state = Mutex(State())
        private let path: String
        init(_ path: String) { self.path = path }

        /// Whether it has the answer to its request and has confirmed a goodbye that came after it.
        var hasSaidThatItHasAll: Bool { state.withLock { $0.hasSaidSo } }
        func stop() { state.withLock { $0.isStopped = true } }

        func run() throws {
            let router = try ZeroMQSocket(.router, context: ZeroMQContext())
            try router.bind(path)
            var hasAsked = false
            var goodbyes: [UInt64] = []
            while !state.withLock({ $0.isStopped }) {
                guard let frames = try router.receive() else {
                    usleep(2000)
                    continue
                }
                let envelope = try Envelope(serializedBytes: frames[1])
                switch envelope.form {
                case .hello where !hasAsked:
                    hasAsked = true
                    try send(.with { Self.request(&$0) }, to: frames[0], by: router)
                case .reply: state.withLock { $0.hasAnswer = true }
                case .goodbye:
                    goodbyes.append(envelope.correlation)
                    try hear(goodbyes, from: frames[0], by: router)
                default: break
                }
            }
        }

        /// The first goodbye is confirmed at once. Before the next one, the first is confirmed a second time.
        private func hear(_ goodbyes: [UInt64], from lane: [UInt8], by router: ZeroMQSocket) throws {
            if goodbyes.count > 1 {
                try send(Self.goodbye(goodbyes[0]), to: lane, by: router)
                usleep(200_000)
                state.withLock { $0.hasSaidSo = $0.hasAnswer }
            }
            try send(Self.goodbye(goodbyes[goodbyes.count - 1]), to: lane, by: router)
        }

        private func send(_ envelope: Envelope, to lane: [UInt8], by router: ZeroMQSocket) throws {
            _ = try router.send([lane, try envelope.serializedBytes(), [42]])
        }

        private static func request(_ envelope: inout Envelope) {
            envelope.version = BusMessage.version
            envelope.form = .request
            envelope.kind = "catalog.echo.v1"
            envelope.correlation = 4711
            envelope.remaining = 60_000
        }

        private static func goodbye(_ number: UInt64) -> Envelope {
            .with {
                $0.version = BusMessage.version
                $0.form = .goodbye
                $0.correlation = number
            }
        }
    }

    @Test func leavingWaitsForTheLastAnswer() async throws {
        var logger = Logger(label: "leaving-tests")
        logger.logLevel = .critical
        let path = "ipc:///tmp/satchel-leave-\(UUID().uuidString.prefix(8)).ipc"
        let gateway = FalseGateway(path)
        let running = Task.detached { try gateway.run() }
        let endpoint = try BusEndpoint(
            configuration: try BusConfiguration(endpoint: path), service: "catalog", replica: "catalog-1",
            release: "test", laneCount: 1, logger: logger)
        let kept = Kept()
        try await endpoint.start { _ in Keeper(kept) }
        while kept.count == 0 { try await Task.sleep(for: .milliseconds(5)) }

        let isHeard = await endpoint.leave(within: .seconds(20))
        #expect(isHeard)
        #expect(!gateway.hasSaidThatItHasAll)
        kept.answer()
        let isHeardAgain = await endpoint.leave(within: .seconds(20))
        #expect(isHeardAgain)
        #expect(gateway.hasSaidThatItHasAll)
        endpoint.stop()
        gateway.stop()
        try await running.value
    }
}
