import CZeroMQ
import Foundation
import Logging
import MessageBus
import Messages
import Synchronization
import TestSupport
import Testing

/// The bus over real sockets: a broker and services in one process, over ipc and over tcp with CURVE keys.
@Suite(.serialized, .timeLimit(.minutes(10))) struct BusTests {
    /// Answers every request with its own body and documents, and `.refuse.` kinds with a failure. Answers nothing if
    /// it is silent.
    private final class Echo: LaneHandler {
        let isSilent: Bool
        init(isSilent: Bool) { self.isSilent = isSilent }

        func handle(_ request: ServiceRequest) {
            if isSilent { return }
            if request.kind.hasSuffix(".refuse.v1") {
                return request.reply(.failure(BusFailure(code: 142, "refused")))
            }
            request.reply(.success(BusReply(body: request.body, documents: request.documents)))
        }
    }

    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    let logger: Logger = {
        var logger = Logger(label: "bus-tests")
        logger.logLevel = .critical
        return logger
    }()

    func ipc() throws -> BusConfiguration {
        try BusConfiguration(endpoint: "ipc:///tmp/satchel-bus-\(UUID().uuidString.prefix(8)).ipc")
    }

    func endpoint(
        _ configuration: BusConfiguration, _ service: String, replica: String = "one", isSilent: Bool = false
    ) async throws
        -> BusEndpoint
    {
        let endpoint = try BusEndpoint(
            configuration: configuration, service: service, replica: "\(service)-\(replica)", release: "test",
            laneCount: 2,
            logger: logger)
        try await endpoint.start { _ in Echo(isSilent: isSilent) }
        endpoint.setWriter(true)
        return endpoint
    }

    func request(
        _ kind: String, _ body: String = "body", documents: [[UInt8]] = [], timeout: Duration = .seconds(60)
    ) -> BusRequest {
        var request = BusRequest(kind: kind, body: Array(body.utf8), timeout: timeout)
        request.documents = documents
        return request
    }

    func withBus(_ configuration: BusConfiguration, _ body: (Broker) async throws -> Void) async throws {
        let broker = try Broker(configuration: configuration, logger: logger)
        try await broker.start()
        defer { broker.stop() }
        try await body(broker)
    }

    @Test func aRequestReachesItsServiceAndTheAnswerComesBack() async throws {
        let configuration = try ipc()
        try await withBus(configuration) { broker in
            let catalog = try await endpoint(configuration, "catalog")
            defer { catalog.stop() }
            let big = [UInt8](repeating: 7, count: 1 << 20)
            let reply = try await broker.call(request("catalog.echo.v1", documents: [[], big]))
            #expect(reply.body == Array("body".utf8))
            #expect(reply.documents == [[], big])
        }
    }

    /// Every completion of a batch is followed by the end of that batch.
    @Test func requestsThatWakeNobodyLeaveWithTheWakeAndTheirBatchHasAnEnd() async throws {
        let configuration = try ipc()
        let completed = Counter()
        let (ends, told) = AsyncStream.makeStream(of: Int.self)
        let broker = try Broker(
            configuration: configuration, logger: logger,
            onBatchEnd: { told.yield(completed.count.load(ordering: .sequentiallyConsistent)) })
        try await broker.start()
        let catalog = try await endpoint(configuration, "catalog")
        defer { catalog.stop() }
        for number in 0..<100 {
            broker.call(request("catalog.echo.v1", "\(number)"), wakes: false) { result in
                if case .success(let reply) = result, reply.body == Array("\(number)".utf8) {
                    completed.count.add(1, ordering: .sequentiallyConsistent)
                }
            }
        }
        broker.wake()
        for await count in ends where count == 100 { break }
        // Also for requests that are pending when the broker stops.
        let silent = try await endpoint(configuration, "payments", isSilent: true)
        defer { silent.stop() }
        broker.call(request("payments.echo.v1"), wakes: false) { _ in
            completed.count.add(1, ordering: .sequentiallyConsistent)
        }
        broker.stop()
        for await count in ends where count == 101 { break }
    }

    /// Collects requests until there are `count`, then answers all in one batch.
    private final class Gatherer: LaneHandler {
        private let count: Int
        private let batch = ReplyBatch()
        private var kept: [ServiceRequest] = []
        init(count: Int) { self.count = count }

        func handle(_ request: ServiceRequest) {
            kept.append(request)
            guard kept.count == count else { return }
            batch.gather {
                for request in kept { request.reply(.success(BusReply(body: request.body)), in: batch) }
            }
            kept = []
        }
    }

    @Test func repliesThatLeaveTogetherReachWhoAskedForThem() async throws {
        let configuration = try ipc()
        let count = 100
        try await withBus(configuration) { broker in
            // One lane, which gets all of them at once; more than one piece of a batch can contain.
            let catalog = try BusEndpoint(
                configuration: configuration, service: "catalog", replica: "catalog-one", release: "test", laneCount: 1,
                logger: logger)
            try await catalog.start { _ in Gatherer(count: count) }
            defer { catalog.stop() }
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<count {
                    group.addTask {
                        let request = self.request("catalog.echo.v1", "\(number)")
                        return try await broker.call(request).body == request.body
                    }
                }
                for try await isOwn in group { #expect(isOwn) }
            }
        }
    }

    @Test func aReplyAfterItsBatchHasLeftIsSentAtOnce() async throws {
        /// Starts a task within the batch that outlives it.
        final class Late: LaneHandler {
            func handle(_ request: ServiceRequest) {
                let batch = batch
                batch.gather {
                    let left = AsyncStream<Void>.makeStream()
                    Task {
                        for await _ in left.stream {}
                        request.reply(.success(BusReply(body: request.body)), in: batch)
                    }
                    ended = left.continuation
                }
                ended?.finish()
            }
            private let batch = ReplyBatch()
            private var ended: AsyncStream<Void>.Continuation?
        }
        let configuration = try ipc()
        try await withBus(configuration) { broker in
            let catalog = try BusEndpoint(
                configuration: configuration, service: "catalog", replica: "catalog-one", release: "test", laneCount: 1,
                logger: logger)
            try await catalog.start { _ in Late() }
            defer { catalog.stop() }
            let reply = try await broker.call(request("catalog.echo.v1"))
            #expect(reply.body == Array("body".utf8))
        }
    }

    @Test func aServiceCallsAnotherOverTheSameRoad() async throws {
        let configuration = try ipc()
        try await withBus(configuration) { broker in
            let bag = try await endpoint(configuration, "bag")
            let payments = try await endpoint(configuration, "payments")
            defer {
                bag.stop()
                payments.stop()
            }
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for n in 0..<500 {
                    group.addTask { [self] in
                        String(decoding: try await bag.call(request("payments.echo.v1", "\(n)")).body, as: UTF8.self)
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(answers.count == 500)
            _ = broker
        }
    }

    @Test func theGatewayAnswersWhatItIsAskedItself() async throws {
        let configuration = try ipc()
        let broker = try Broker(configuration: configuration, logger: logger)
        try await broker.start(answering: [
            "gateway.echo.v1": { request in
                // On another thread, like an answer that takes time.
                Task { request.reply(.success(BusReply(body: request.body, documents: request.documents)), used: 7) }
            }
        ])
        defer { broker.stop() }
        let cloud = try await endpoint(configuration, "cloud")
        defer { cloud.stop() }
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for n in 0..<100 {
                group.addTask { [self] in
                    String(decoding: try await cloud.call(request("gateway.echo.v1", "\(n)")).body, as: UTF8.self)
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(answers.count == 100)
        let reply = try await cloud.call(request("gateway.echo.v1", documents: [[1], [2]]))
        #expect(reply.documents == [[1], [2]])
        #expect(reply.used == 7)
    }

    @Test func sharedRequestsGoToTheWritersEdition() async throws {
        let configuration = try ipc()
        try await withBus(configuration) { broker in
            let writer = try await endpoint(configuration, "cloud", replica: "a")
            defer { writer.stop() }
            let other = try await endpoint(configuration, "cloud", replica: "b")
            defer { other.stop() }
            other.setWriter(false)
            writer.setEdition(7)
            other.setEdition(7)
            try await until { broker.services["cloud"]?.current == ["cloud-a", "cloud-b"] }
            var shared = request("cloud.echo.v1")
            (shared.writes, shared.shared) = (true, true)
            for replica in ["cloud-a", "cloud-b"] {
                try await until {
                    _ = try await broker.call(shared)
                    return await broker.requestsByReplica[replica] ?? 0 > 0
                }
            }
            other.setEdition(8)
            try await until { broker.services["cloud"]?.current == ["cloud-a"] }
            let before = await broker.requestsByReplica["cloud-b"]
            for _ in 0..<4 { _ = try await broker.call(shared) }
            #expect(await broker.requestsByReplica["cloud-b"] == before)
        }
    }

    @Test func aProblemThatIsSaidBeforeTheStartIsHeardFirst() async throws {
        let configuration = try ipc()
        let heard = Mutex<[String]>([])
        let broker = try Broker(
            configuration: configuration, logger: logger,
            onStates: { states in
                if let state = states["cloud"] { heard.withLock { $0.append(state.problem) } }
            })
        try await broker.start()
        defer { broker.stop() }
        let cloud = try BusEndpoint(
            configuration: configuration, service: "cloud", replica: "cloud-1", release: "test", laneCount: 2,
            logger: logger)
        cloud.setProblem("It is being loaded.")
        try await cloud.start { _ in Echo(isSilent: false) }
        defer { cloud.stop() }
        try await until { heard.withLock { !$0.isEmpty } }
        cloud.setProblem("")
        try await until { heard.withLock { $0.last?.isEmpty == true } }
        #expect(heard.withLock { $0.first } == "It is being loaded.")
    }

    @Test func aProblemOfAStandbyOnlyDegradesItsService() async throws {
        let configuration = try ipc()
        try await withBus(configuration) { broker in
            let writer = try await endpoint(configuration, "catalog", replica: "1")
            defer { writer.stop() }
            let standby = try await endpoint(configuration, "catalog", replica: "2")
            defer { standby.stop() }
            standby.setWriter(false)
            standby.setProblem("The disk fails.")
            try await until {
                broker.services["catalog"]?.warning == "The disk fails." && broker.services["catalog"]?.problem == ""
            }
            // Both are in trouble, then the standby alone writes.
            writer.setProblem("The disk is full.")
            try await until { broker.services["catalog"]?.problem.isEmpty == false }
            standby.setProblem("")
            try await until { broker.services["catalog"]?.problem == "The disk is full." }
            standby.setWriter(true)
            try await until {
                broker.services["catalog"]?.warning == "The disk is full." && broker.services["catalog"]?.problem == ""
            }
        }
    }

    @Test func aFailureArrivesAsAFailure() async throws {
        let configuration = try ipc()
        try await withBus(configuration) { broker in
            let catalog = try await endpoint(configuration, "catalog")
            defer { catalog.stop() }
            let failure = await #expect(throws: BusFailure.self) { try await broker.call(request("catalog.refuse.v1")) }
            #expect(failure?.failure.code == 142)
        }
    }

    @Test func aSilentServiceIsAnsweredAtTheDeadline() async throws {
        let configuration = try ipc()
        try await withBus(configuration) { broker in
            let catalog = try await endpoint(configuration, "catalog", isSilent: true)
            defer { catalog.stop() }
            let failure = await #expect(throws: BusFailure.self) {
                try await broker.call(request("catalog.echo.v1", timeout: .milliseconds(300)))
            }
            #expect(failure?.failure.code == 124)
        }
    }

    @Test func aReadOfACrashedReplicaIsAnsweredByAnother() async throws {
        let configuration = try ipc()
        try await withBus(configuration) { broker in
            let dying = try await endpoint(configuration, "catalog", replica: "dying", isSilent: true)
            try await until { broker.services["catalog"]?.replicas == ["catalog-dying"] }
            let answer = Task { try await broker.call(request("catalog.echo.v1", timeout: .seconds(60))) }
            let staying = try await endpoint(configuration, "catalog", replica: "staying")
            defer { staying.stop() }
            try await until { broker.services["catalog"]?.replicas.count == 2 }
            dying.stop()  // Without a goodbye, as in a crash.
            #expect(try await answer.value.body == Array("body".utf8))
            try await until { broker.services["catalog"]?.replicas == ["catalog-staying"] }
        }
    }

    /// Writes without a key, which could not be repeated if one were lost. A service that leaves has answered all
    /// requests that it received.
    @Test func aServiceThatLeavesLosesNothingThatWasSentToIt() async throws {
        let configuration = try ipc()
        try await withBus(configuration) { broker in
            let leaving = try await endpoint(configuration, "catalog", replica: "leaving")
            let staying = try await endpoint(configuration, "catalog", replica: "staying")
            defer { staying.stop() }
            try await until { broker.services["catalog"]?.replicas.count == 2 }
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for n in 0..<800 {
                    group.addTask { [self] in
                        var echo = request("catalog.echo.v1", "\(n)", timeout: .seconds(60))
                        echo.writes = n.isMultiple(of: 2)
                        return String(decoding: try await broker.call(echo).body, as: UTF8.self)
                    }
                }
                await leaving.leave(within: .seconds(30))
                // By now all requests are answered. The second call ensures that the answers have arrived.
                await leaving.leave(within: .seconds(30))
                leaving.stop()
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(answers.count == 800)
            try await until { broker.services["catalog"]?.replicas == ["catalog-staying"] }
        }
    }

    @Test func everyLeavingOfAGatewayEnds() async throws {
        let configuration = try ipc()
        try await withBus(configuration) { broker in
            let payments = try await endpoint(configuration, "payments", isSilent: true)
            defer { payments.stop() }
            let bag = try await endpoint(configuration, "bag")
            defer { bag.stop() }
            let running = Task { try await bag.call(request("payments.echo.v1")) }
            try await until { await broker.unansweredByService["payments"] == 1 }
            let left = Counter()
            for _ in 0..<2 {
                Task {
                    await broker.leave(within: .seconds(1))
                    left.count.add(1, ordering: .sequentiallyConsistent)
                }
            }
            try await until { left.count.load(ordering: .sequentiallyConsistent) == 2 }
            running.cancel()
        }
    }

    @Test func leavingWithoutAGatewayIsBounded() async throws {
        let catalog = try await endpoint(try ipc(), "catalog")
        let isHeard = await catalog.leave(within: .milliseconds(50))
        #expect(!isHeard)
        catalog.stop()
    }

    @Test func anEndpointThatNeverStartedRefusesCallsOnceItIsStopped() async throws {
        let endpoint = try BusEndpoint(
            configuration: try ipc(), service: "catalog", replica: "catalog-1", release: "test", laneCount: 2,
            logger: logger)
        endpoint.stop()
        let failure = await #expect(throws: BusFailure.self) { try await endpoint.call(request("users.echo.v1")) }
        #expect(failure?.failure.retriable == true)
    }

    @Test func aSecondBrokerCannotTakeTheEndpoint() async throws {
        let configuration = try ipc()
        try await withBus(configuration) { _ in
            let second = try Broker(configuration: configuration, logger: logger)
            await #expect(throws: BusConfiguration.Problem.self) { try await second.start() }
        }
    }

    @Test func servicesFindARestartedBroker() async throws {
        let configuration = try ipc()
        let first = try Broker(configuration: configuration, logger: logger)
        try await first.start()
        let catalog = try await endpoint(configuration, "catalog")
        defer { catalog.stop() }
        try await until { first.services["catalog"] != nil }
        first.stop()
        let second = try Broker(configuration: configuration, logger: logger)
        try await until { (try? await second.start()) != nil }
        defer { second.stop() }
        #expect(try await second.call(request("catalog.echo.v1")).body == Array("body".utf8))
    }

    @Test func tcpNeedsKeysOffTheHostAndRefusesStrangers() async throws {
        #expect(throws: BusConfiguration.Problem.self) { try BusConfiguration(endpoint: "tcp://10.0.0.1:5555") }
        let (configuration, broker) = try await startOnTCP()
        defer { broker.stop() }
        var stranger = configuration
        stranger.keys = try CurveKeys.make()
        let strange = try await endpoint(stranger, "users")
        let plain = try await endpoint(BusConfiguration(endpoint: configuration.endpoint), "bag")
        let catalog = try await endpoint(configuration, "catalog")
        defer { for endpoint in [strange, plain, catalog] { endpoint.stop() } }
        #expect(try await broker.call(request("catalog.echo.v1")).body == Array("body".utf8))
        #expect(broker.services.keys.sorted() == ["catalog"])
    }

    /// Starts a broker on a port that no other process has.
    private func startOnTCP() async throws -> (BusConfiguration, Broker) {
        while true {
            let port = UInt16.random(in: 10_000..<20_000)
            let configuration = try BusConfiguration(endpoint: "tcp://127.0.0.1:\(port)", keys: .make())
            let broker = try Broker(configuration: configuration, logger: logger)
            do {
                try await broker.start()
                return (configuration, broker)
            } catch let error as ZeroMQError where error.number == EADDRINUSE {
                continue
            }
        }
    }

    private func until(_ condition: () async throws -> Bool) async throws {
        try await eventually("it happens", condition)
    }
}
