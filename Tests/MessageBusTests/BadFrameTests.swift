import CZeroMQ
import Foundation
import Logging
import MessageBus
import Messages
import Testing

/// Truncated, oversized, wrong-version and random frames at both ends: error replies, no crash, no stuck request.
@Suite(.serialized, .timeLimit(.minutes(10))) struct BadFrameTests {
    private final class Echo: LaneHandler {
        func handle(_ request: ServiceRequest) { request.reply(.success(BusReply(body: request.body))) }
    }

    private let logger: Logger = {
        var logger = Logger(label: "bad-frames")
        logger.logLevel = .critical
        return logger
    }()

    private let path = "ipc:///tmp/satchel-bad-\(UUID().uuidString.prefix(8)).ipc"

    /// Frames that are not a message, from a seeded generator, so that failures can be reproduced.
    private func garbage() throws -> [[[UInt8]]] {
        var generator = SplitMix(state: 7)
        func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) } }
        let good =
            try Envelope.with {
                $0.version = 1
                $0.form = .request
                $0.kind = "catalog.echo.v1"
                $0.remaining = 5000
            }.serializedBytes() as [UInt8]
        let otherVersion =
            try Envelope.with {
                $0.version = 99
                $0.form = .request
                $0.correlation = 5
            }.serializedBytes() as [UInt8]
        var messages: [[[UInt8]]] = [
            [[]], [[], []], [good], [otherVersion, []], [random(4096)], [[], random(1 << 20)],
        ]
        messages += (1..<good.count).map { [Array(good.prefix($0)), [1]] }
        messages += (0..<300).map { n in (0...(n % 4)).map { _ in random(Int.random(in: 0...200, using: &generator)) } }
        messages += (0..<200).map { _ in
            var mutated = good
            mutated[Int.random(in: 0..<mutated.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            return [mutated, []]
        }
        messages.append([good] + [[UInt8]](repeating: [], count: BusMessage.documentsMax + 2))
        return messages
    }

    @Test func theBrokerSurvivesAndStillServes() async throws {
        let configuration = try BusConfiguration(endpoint: path)
        let broker = try Broker(configuration: configuration, logger: logger)
        try await broker.start()
        defer { broker.stop() }
        let endpoint = try BusEndpoint(
            configuration: configuration, service: "catalog", replica: "catalog-1", release: "test", laneCount: 1,
            logger: logger)
        try await endpoint.start { _ in Echo() }
        defer { endpoint.stop() }

        let refused = try await throwAtBroker(try garbage())
        #expect(refused, "A message of another version gets an error reply with its correlation.")
        let request = BusRequest(kind: "catalog.echo.v1", body: [1, 2, 3], timeout: .seconds(60))
        #expect(try await broker.call(request).body == [1, 2, 3])
    }

    /// Sends everything over a new socket; true when the message of another version was answered with an error.
    private func throwAtBroker(_ messages: [[[UInt8]]]) async throws -> Bool {
        let path = path
        return try await Task.detached {
            let socket = try ZeroMQSocket(.dealer, context: ZeroMQContext())
            try socket.connect(path)
            for message in messages { #expect(try socket.send(message) == .sent) }
            let end = ContinuousClock.now + .seconds(60)
            while ContinuousClock.now < end {
                guard let frames = try socket.receive() else {
                    try await Task.sleep(for: .milliseconds(5))
                    continue
                }
                let envelope = try Envelope(serializedBytes: frames[0])
                if envelope.correlation == 5, envelope.failure.code == 107 { return true }
            }
            return false
        }.value
    }

    @Test func aServiceSurvivesAndStillServes() async throws {
        let configuration = try BusConfiguration(endpoint: path)
        let messages = try garbage()
        let path = path
        // A fake gateway that answers a hello with garbage and then with one valid request.
        let answered = Task.detached { () throws -> Bool in
            let router = try ZeroMQSocket(.router, context: ZeroMQContext())
            try router.bind(path)
            var lane: [UInt8]?
            let end = ContinuousClock.now + .seconds(60)
            while ContinuousClock.now < end {
                guard let frames = try router.receive() else {
                    usleep(2000)
                    continue
                }
                let envelope = try? Envelope(serializedBytes: frames[1])
                if lane == nil, envelope?.form == .hello {
                    lane = frames[0]
                    for message in messages { _ = try router.send([frames[0]] + message) }
                    let good = Envelope.with {
                        $0.version = 1
                        $0.form = .request
                        $0.kind = "catalog.echo.v1"
                        $0.correlation = 4711
                        $0.remaining = 60_000
                    }
                    _ = try router.send([frames[0], try good.serializedBytes(), [42]])
                }
                if envelope?.correlation == 4711 { return frames[2] == [42] }
            }
            return false
        }
        let endpoint = try BusEndpoint(
            configuration: configuration, service: "catalog", replica: "catalog-1", release: "test", laneCount: 1,
            logger: logger)
        try await endpoint.start { _ in Echo() }
        defer { endpoint.stop() }
        #expect(try await answered.value)
    }
}

/// A small seeded generator (Steele, Lea and Flood 2014), for repeatable tests.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
