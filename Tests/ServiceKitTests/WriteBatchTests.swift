import Dispatch
import MessageBus
import Messages
import ObjectStore
import ServiceKit
import Synchronization
import TestSupport
import Testing

/// When the writer gets the writes of a lane's batch. The tests are the lane: they say where a batch ends.
@Suite(.serialized, .timeLimit(.minutes(10))) struct WriteBatchTests {
    /// What happened, in its order.
    private final class Events: Sendable {
        private let list = Mutex<[String]>([])
        func add(_ event: String) { list.withLock { $0.append(event) } }
        var all: [String] { list.withLock { $0 } }
    }

    private struct Lane {
        let bench: BusBench
        let host: ServiceHost
        let handler: RouteHandler
        let events: Events

        /// Writes that the writer has got and not begun.
        var waiting: Int { host.store.figures.waitingWrites }

        func handle(_ kind: String, _ name: String, bytes: Int = 0) throws {
            let request = BusRequest(kind: kind, body: try deletion(of: name).serializedBytes(), timeout: .seconds(30))
            let documents = bytes > 0 ? [[UInt8](repeating: 0x20, count: bytes)] : []
            let message = BusMessage(envelope: request.envelope, body: request.body, documents: documents)
            handler.handle(
                ServiceRequest(message) { [events] result in
                    switch result {
                    case .success: events.add("reply \(name)")
                    case .failure(let failure): events.add("refusal \(name) \(failure.failure.code)")
                    }
                })
        }

        /// Calls `body` while the writer is busy with a job, so that all other jobs wait.
        func holdingWriter(_ body: () async throws -> Void) async throws {
            let gate = DispatchSemaphore(value: 0)
            defer { gate.signal() }
            let (held, holding) = AsyncStream<Void>.makeStream()
            host.store.submit(
                for: nil,
                { _ in
                    holding.finish()
                    gate.wait()
                }, completion: { _ in })
            for await _ in held {}
            try await body()
        }

        func expectEventually(_ wanted: [String]) async throws {
            try await eventually("\(wanted.count) events") { events.all.count >= wanted.count }
            #expect(events.all == wanted)
        }
    }

    private func withLane(_ body: (Lane) async throws -> Void) async throws {
        try await BusBench.with { bench in
            let events = Events()
            var installed: ServiceRoutes?
            let host = try await bench.start(ServicePlan(name: "shop")) { host, routes in
                let store = host.store
                routes.accept(userCall("shop.mark.v1"), keyed: false) { message, _, _ in
                    events.add("run \(message.userID)")
                }
                routes.read(userCall("shop.look.v1")) { message, _, _ in
                    events.add("run \(message.userID), \(store.figures.waitingWrites) waiting")
                    return Accepted()
                }
                installed = routes
            }
            let handler = RouteHandler(
                routes: try #require(installed), reader: try host.store.makeReader(), load: RunningRequests())
            try await body(Lane(bench: bench, host: host, handler: handler, events: events))
        }
    }

    /// A reply follows the commit, so all of them follow the last write of a commit.
    @Test func theWritesOfABatchHaveOneCommit() async throws {
        try await withLane { lane in
            for name in ["a", "b", "c"] { try lane.handle("shop.mark.v1", name) }
            // The writer has got none of them: it would run them before this job, or with it.
            try await lane.host.store.write(for: nil) { _ in }
            #expect(lane.events.all.isEmpty)
            lane.handler.batchEnded()
            try await lane.expectEventually(["run a", "run b", "run c", "reply a", "reply b", "reply c"])
        }
    }

    @Test func aReadIsAfterTheWritesBeforeIt() async throws {
        try await withLane { lane in
            try await lane.holdingWriter {
                try lane.handle("shop.mark.v1", "a")
                try lane.handle("shop.mark.v1", "b")
                #expect(lane.waiting == 0)
                try lane.handle("shop.look.v1", "read")
                #expect(lane.waiting == 2)
                try await lane.expectEventually(["run read, 2 waiting", "reply read"])
                try lane.handle("shop.mark.v1", "c")
                #expect(lane.waiting == 2)
                lane.handler.batchEnded()
                #expect(lane.waiting == 3)
            }
            try await lane.expectEventually([
                "run read, 2 waiting", "reply read", "run a", "run b", "run c", "reply a", "reply b", "reply c",
            ])
        }
    }

    @Test func aLargeWriteDoesNotDelayTheWritesBeforeIt() async throws {
        try await withLane { lane in
            try await lane.holdingWriter {
                try lane.handle("shop.mark.v1", "a", bytes: 16_384)
                try lane.handle("shop.mark.v1", "b")
                #expect(lane.waiting == 0)
                try lane.handle("shop.mark.v1", "large", bytes: 16_385)
                #expect(lane.waiting == 2)
                lane.handler.batchEnded()
                #expect(lane.waiting == 3)
            }
            try await lane.expectEventually([
                "run a", "run b", "run large", "reply a", "reply b", "reply large",
            ])
        }
    }

    @Test func aStoppedWriterRefusesEachWriteOfABatch() async throws {
        try await withLane { lane in
            try await lane.bench.end(lane.host)
            for name in ["a", "b", "c"] { try lane.handle("shop.mark.v1", name) }
            #expect(lane.events.all.isEmpty)
            lane.handler.batchEnded()
            #expect(lane.events.all == ["refusal a 2", "refusal b 2", "refusal c 2"])
        }
    }
}
