import Foundation
import Logging
import MessageBus
import Messages
import Synchronization
import Testing

/// Services with several gateways, over real sockets: brokers and services in one process.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SeveralGatewaysTests {
    /// Answers with its service's name and the body; `.keep.` kinds wait until the test triggers the answer.
    private final class Answering: LaneHandler {
        private let kept: Kept
        init(_ kept: Kept) { self.kept = kept }

        func handle(_ request: ServiceRequest) {
            guard request.kind.contains(".keep.") else {
                return request.reply(.success(BusReply(body: request.body)))
            }
            kept.requests.withLock { $0.append(request) }
        }
    }

    private final class Kept: Sendable {
        let requests = Mutex<[ServiceRequest]>([])
        var count: Int { requests.withLock { $0.count } }

        func answer() {
            for request in requests.withLock({ $0 }) { request.reply(.success(BusReply(body: request.body))) }
        }
    }

    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    private let logger: Logger = {
        var logger = Logger(label: "gateways-tests")
        logger.logLevel = .critical
        return logger
    }()
    private let folder = "/tmp/satchel-gateways-\(UUID().uuidString.prefix(8))"

    private func path(_ number: Int) -> String { "ipc://\(folder)/\(number).ipc" }

    private func broker(_ number: Int) async throws -> Broker {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let broker = try Broker(configuration: BusConfiguration(endpoint: path(number)), logger: logger)
        try await broker.start()
        return broker
    }

    private func endpoint(
        _ service: String, _ list: GatewayList, keeping kept: Kept = Kept()
    ) async throws -> BusEndpoint {
        let endpoint = try BusEndpoint(
            configuration: BusConfiguration(gateways: list), service: service, replica: "\(service)-1", release: "test",
            laneCount: 2, logger: logger)
        try await endpoint.start { _ in Answering(kept) }
        endpoint.setWriter(true)
        return endpoint
    }

    private func request(_ kind: String, key: String = "", writes: Bool = false) -> BusRequest {
        var request = BusRequest(kind: kind, body: [42], timeout: .seconds(60))
        request.writes = writes
        request.idempotencyKey = key
        return request
    }

    private func until(_ isTrue: () async -> Bool) async throws {
        while !(await isTrue()) { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test func eachGatewayReachesTheService() async throws {
        let brokers = [try await broker(1), try await broker(2)]
        let catalog = try await endpoint("catalog", GatewayList([path(1), path(2)]))
        for broker in brokers {
            let reply = try await broker.call(request("catalog.echo.v1", writes: true))
            #expect(reply.body == [42])
            #expect(broker.services["catalog"]?.replicas == ["catalog-1"])
        }
        catalog.stop()
        for broker in brokers { broker.stop() }
    }

    @Test func callsOfAServiceUseBothGateways() async throws {
        let brokers = [try await broker(1), try await broker(2)]
        let list = GatewayList([path(1), path(2)])
        let catalog = try await endpoint("catalog", list)
        let bag = try await endpoint("bag", list)
        for broker in brokers { try await until { broker.services.count == 2 } }
        for broker in brokers {
            try await until {
                _ = try? await bag.call(request("catalog.echo.v1"))
                return await broker.requestsByReplica["catalog-1"] ?? 0 > 0
            }
        }
        for endpoint in [bag, catalog] { endpoint.stop() }
        for broker in brokers { broker.stop() }
    }

    /// Two gateways that both have the caller, and a service whose answers are held back.
    private func shop() async throws -> (brokers: [Broker], bag: BusEndpoint, payments: BusEndpoint, kept: Kept) {
        let brokers = [try await broker(1), try await broker(2)]
        let list = GatewayList([path(1), path(2)])
        let kept = Kept()
        let payments = try await endpoint("payments", list, keeping: kept)
        let bag = try await endpoint("bag", list)
        for broker in brokers { try await until { broker.services.count == 2 } }
        return (brokers, bag, payments, kept)
    }

    /// Both gateways have calls in progress when one of them ends.
    @Test func callsThatMayBeRepeatedEndWellWhenAGatewayGoesAway() async throws {
        let (brokers, bag, payments, kept) = try await shop()
        let answers = Task {
            try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for number in 0..<8 {
                    group.addTask {
                        try await bag.call(request("payments.keep.v1", key: "key-\(number)", writes: true)).body
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        try await until { kept.count == 8 }
        let byFirst = await brokers[0].requestsByReplica["payments-1"] ?? 0
        let gone = byFirst > 0 ? 0 : 1
        brokers[gone].stop()
        // The calls of the ended gateway arrive again through the other one.
        try await until { kept.count == 8 + (gone == 0 ? byFirst : 8) }
        kept.answer()
        let bodies = try await answers.value
        #expect(bodies == Array(repeating: [42], count: 8))
        for endpoint in [bag, payments] { endpoint.stop() }
        brokers[1 - gone].stop()
    }

    @Test func aChangeWithoutAKeyIsNotRepeated() async throws {
        let (brokers, bag, payments, kept) = try await shop()
        let first = Task { try await bag.call(request("payments.keep.v1", writes: true)) }
        try await until { kept.count == 1 }
        for broker in brokers { broker.stop() }
        let failure = await #expect(throws: BusFailure.self) { try await first.value }
        #expect(failure?.failure == BusFailure.outcomeUnknown.failure)
        #expect(kept.count == 1)
        for endpoint in [bag, payments] { endpoint.stop() }
    }

    @Test func aGatewayThatLeavesWaitsForTheCallsThatItHasAndGetsNoOthers() async throws {
        let (brokers, bag, payments, kept) = try await shop()
        // Adds calls until the first gateway has one; these calls must not be repeated.
        var calls: [Task<BusReply, any Error>] = []
        while await brokers[0].requestsByReplica["payments-1"] ?? 0 == 0 {
            calls.append(Task { try await bag.call(request("payments.keep.v1", writes: true)) })
            let count = calls.count
            try await until { kept.count == count }
        }
        let flag = Flag()
        let leaving = Task {
            await brokers[0].leave(within: .seconds(60))
            flag.isSet.withLock { $0 = true }
        }
        try await until {
            let before = await brokers[0].requestsByReplica["payments-1"]
            for _ in 0..<4 { _ = try? await bag.call(request("payments.echo.v1")) }
            return await brokers[0].requestsByReplica["payments-1"] == before
        }
        #expect(!flag.isSet.withLock { $0 })
        kept.answer()
        for call in calls {
            let reply = try await call.value
            #expect(reply.body == [42])
        }
        await leaving.value
        for endpoint in [bag, payments] { endpoint.stop() }
        for broker in brokers { broker.stop() }
    }

    @Test func aGatewayThatIsAddedToTheFileIsDialledAndOneThatVanishesIsLeft() async throws {
        let first = try await broker(1)
        let file = "\(folder)/gateways"
        let bag = try await endpoint("bag", GatewayList([path(1)], file: file))
        try await until { first.services["bag"] != nil }

        let second = try await broker(2)
        try "# two\n\(path(1))\n\(path(2))\n".write(toFile: file, atomically: true, encoding: .utf8)
        try await until { second.services["bag"]?.hasWriter == true }
        let reply = try await second.call(request("bag.echo.v1"))
        #expect(reply.body == [42])

        try "\(path(2))\n".write(toFile: file, atomically: true, encoding: .utf8)
        try await until { first.services["bag"] == nil }
        let another = try await second.call(request("bag.echo.v1"))
        #expect(another.body == [42])
        bag.stop()
        for broker in [first, second] { broker.stop() }
    }

    @Test func aGatewayThatComesBackIsDialledAgain() async throws {
        let first = try await broker(1)
        let second = try await broker(2)
        let catalog = try await endpoint("catalog", GatewayList([path(1), path(2)]))
        try await until { second.services["catalog"]?.hasWriter == true }
        second.stop()
        // Its endpoint is free when its thread has ended.
        var next: Broker?
        while next == nil {
            next = try? await broker(2)
            try await Task.sleep(for: .milliseconds(5))
        }
        let again = try #require(next)
        try await until { again.services["catalog"]?.hasWriter == true }
        catalog.stop()
        for broker in [first, again] { broker.stop() }
    }

    @Test func aGoodbyeReachesAllLiveGateways() async throws {
        let brokers = [try await broker(1), try await broker(2)]
        let gone = try await broker(3)
        let catalog = try await endpoint("catalog", GatewayList([path(1), path(2), path(3)]))
        for broker in brokers + [gone] { try await until { broker.services["catalog"]?.hasWriter == true } }
        gone.stop()
        // The leaving service waits for it until its lanes notice that it is gone.
        try await until { await catalog.leave(within: .milliseconds(500)) }
        for broker in brokers { #expect(broker.services["catalog"] == nil) }
        catalog.stop()
        for broker in brokers { broker.stop() }
    }

    @Test func aFileHasAnEndpointALineAndOneThatIsNotThereSaysNothing() {
        let list = GatewayList(["ipc:///one"], file: "\(folder)/nothing")
        #expect(list.current == ["ipc:///one"])
        #expect(GatewayList.endpoints(in: "\n# two\n ipc:///a \nipc:///b\n\nipc:///a\n") == ["ipc:///a", "ipc:///b"])
    }
}
