import Foundation
import InMemoryLogging
import Logging
import MessageBus
import Messages
import Synchronization
import Testing

/// The faults of the bus that `scripts/chaos` asks for in a file.
@Suite(.timeLimit(.minutes(10))) struct LaneFaultTests {
    /// Answers each request with its body, and keeps the order of the bodies.
    private final class Echo: LaneHandler {
        private let seen: Seen
        init(_ seen: Seen) { self.seen = seen }

        func handle(_ request: ServiceRequest) {
            seen.bodies.withLock { $0.append(request.body) }
            request.reply(.success(BusReply(body: request.body)))
        }
    }

    private final class Seen: Sendable {
        let bodies = Mutex<[[UInt8]]>([])
    }

    private let log = InMemoryLogHandler()
    private let logger: Logger

    init() {
        var logger = Logger(label: "fault-tests") { [log] _ in log }
        logger.logLevel = .warning
        self.logger = logger
    }

    /// The logged values under a key.
    private func logged(_ key: String) -> [String] { log.entries.compactMap { $0.metadata[key]?.description } }

    /// A gateway and a catalog of one lane, whose faults the file names.
    private func withCatalog(
        faults text: String, _ body: (_ broker: Broker, _ file: String, _ seen: Seen) async throws -> Void
    ) async throws {
        let name = "/tmp/satchel-faults-\(UUID().uuidString.prefix(8))"
        let file = "\(name).txt"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        var configuration = try BusConfiguration(endpoint: "ipc://\(name).ipc")
        let broker = try Broker(configuration: configuration, logger: logger)
        try await broker.start()
        defer { broker.stop() }
        configuration.faults = file
        let catalog = try BusEndpoint(
            configuration: configuration, service: "catalog", replica: "catalog-1", release: "test", laneCount: 1,
            logger: logger)
        let seen = Seen()
        try await catalog.start { _ in Echo(seen) }
        defer { catalog.stop() }
        catalog.setWriter(true)
        while broker.services["catalog"]?.hasWriter != true { try await Task.sleep(for: .milliseconds(5)) }
        try await body(broker, file, seen)
    }

    private func request(_ body: UInt8, timeout: Duration = .seconds(60)) -> BusRequest {
        BusRequest(kind: "catalog.echo.v1", body: [body], timeout: timeout)
    }

    @Test func theLastLineForAServiceCounts() {
        let text = "* 0.5 0\nbag 0 300\nbag 2 300\nbag 0.1\n\nmail 1 0\n"
        var bag = LaneFaultRates()
        bag.delayMilliseconds = 300
        #expect(LaneFaultRates(text, for: "bag") == bag)
        var users = LaneFaultRates()
        users.dropped = 0.5
        #expect(LaneFaultRates(text, for: "users") == users)
        #expect(LaneFaultRates("", for: "bag") == LaneFaultRates())
    }

    @Test func aLostRequestIsNotAnsweredUntilTheFaultEnds() async throws {
        try await withCatalog(faults: "catalog 1 0") { broker, file, seen in
            let failure = await #expect(throws: BusFailure.self) {
                try await broker.call(request(1, timeout: .seconds(1)))
            }
            #expect(failure?.failure.code == 124)
            #expect(seen.bodies.withLock { $0.isEmpty })
            try FileManager.default.removeItem(atPath: file)
            var reply: BusReply?
            for _ in 0..<60 where reply == nil { reply = try? await broker.call(request(2, timeout: .seconds(1))) }
            #expect(reply?.body == [2])
            // The first request, and what the gateway asked before the fault ended.
            let lost = logged("bus.lost").compactMap { Int($0) }
            #expect(lost.count == 1 && lost[0] >= 1, "\(lost)")
            #expect(logged("bus.faults") == [file], "The start warns.")
        }
    }

    @Test func delayedMessagesKeepTheirOrder() async throws {
        try await withCatalog(faults: "catalog 0 500") { broker, file, seen in
            let begin = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in UInt8(0)..<20 {
                    // Handed over in this order; the answers arrive later.
                    let (answered, told) = AsyncStream.makeStream(of: Bool.self)
                    broker.call(request(number)) { result in
                        if case .success(let reply) = result { told.yield(reply.body == [number]) }
                        told.finish()
                    }
                    group.addTask {
                        for await isRight in answered where isRight { return }
                        throw BusFailure.timedOut
                    }
                }
                try await group.waitForAll()
            }
            #expect(ContinuousClock.now - begin >= .milliseconds(490))
            #expect(seen.bodies.withLock { $0 } == (UInt8(0)..<20).map { [$0] })
            try FileManager.default.removeItem(atPath: file)
            while logged("bus.delay").isEmpty { _ = try await broker.call(request(20)) }
            #expect(logged("bus.delay") == ["500"])
            #expect(logged("bus.late").compactMap { Int($0) }.allSatisfy { $0 >= 20 })
        }
    }

    @Test func faultsOfOtherServicesChangeNothing() async throws {
        try await withCatalog(faults: "bag 1 60000") { broker, _, _ in
            let reply = try await broker.call(request(3))
            #expect(reply.body == [3])
        }
    }
}
