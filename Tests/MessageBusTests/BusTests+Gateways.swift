import CZeroMQ
import Foundation
import MessageBus
import Messages
import TestSupport
import Testing

/// Gateways and connections that go away, or seem to.
///
/// The first two tests close connections while a message cannot be delivered to their socket. With `ZMQ_HEARTBEAT_IVL`,
/// libzmq would abort the process a second later.
extension BusTests {
    /// A connection was replaced by another one under the same routing id, for example after a network failure that
    /// only one side noticed. The broker cannot deliver what the first one still sends.
    @Test func aReplacedConnectionMaySendAndClose() async throws {
        let configuration = try ipc()
        try await withBus(configuration) { broker in
            let catalog = try await endpoint(configuration, "catalog")
            defer { catalog.stop() }
            try await Self.replaceAConnection(to: configuration.endpoint)
            // Longer than the interval that the heartbeat had.
            try await Task.sleep(for: .milliseconds(1500))
            #expect(try await broker.call(request("catalog.echo.v1")).body == Array("body".utf8))
        }
    }

    private static func replaceAConnection(to endpoint: String) async throws {
        try await Task.detached {
            func connected() async throws -> ZeroMQSocket {
                let socket = try ZeroMQSocket(.dealer, context: ZeroMQContext())
                try socket.set(ZMQ_ROUTING_ID, "same")
                try socket.set(ZMQ_LINGER, 1000)
                try socket.connect(endpoint)
                try await ask(socket)
                return socket
            }
            /// The broker refuses messages of other versions.
            func ask(_ socket: ZeroMQSocket) async throws {
                var envelope = Envelope()
                (envelope.version, envelope.form) = (99, .request)
                #expect(try socket.send([try envelope.serializedBytes(), []]) == .sent)
                try await eventually("it is answered") { try socket.receive() != nil }
            }
            let first = try await connected()
            let second = try await connected()
            #expect(try first.send([[1], [2]]) == .sent)
            // The broker has read what the first one sent when it answers the second one.
            try await ask(second)
            withExtendedLifetime(first) {}
        }.value
    }

    /// A gateway goes away while a stopped service still has unsent messages for it.
    @Test func aStoppedServiceMayLoseTheGatewayThatItStillSendsTo() async throws {
        let configuration = try ipc()
        let catalog = try await Self.stopWithUnsentMessages(to: configuration.endpoint) {
            let catalog = try await endpoint(configuration, "catalog")
            // More than the kernel keeps for each of the two lanes.
            let body = String(repeating: "x", count: 4 << 20)
            for _ in 0..<8 { Task { _ = try? await catalog.call(request("mail.send.v1", body)) } }
            return catalog
        }
        try await Task.sleep(for: .milliseconds(1500))
        await #expect(throws: BusFailure.self) { try await catalog.call(request("mail.send.v1")) }
    }

    /// Answers nothing, writes to a lane of the stopped service and closes. Closing sockets have a second to send.
    private static func stopWithUnsentMessages(
        to endpoint: String, from start: @escaping @Sendable () async throws -> BusEndpoint
    ) async throws -> BusEndpoint {
        try await Task.detached {
            let gateway = try ZeroMQSocket(.router, context: ZeroMQContext())
            try gateway.set(ZMQ_RCVHWM, 1)
            try gateway.bind(endpoint)
            let service = try await start()
            var lanes: Set<[UInt8]> = []
            try await eventually("a lane sends its call") {
                guard let frames = try gateway.receive() else { return false }
                lanes.insert(frames[0])
                return frames[2].count >= 1 << 20  // A hello is small.
            }
            service.stop()
            try await Task.sleep(for: .milliseconds(100))
            for lane in lanes { _ = try gateway.send([lane, [1]]) }
            try await Task.sleep(for: .milliseconds(100))
            withExtendedLifetime(gateway) {}
            return service
        }.value
    }

    /// A gateway is stopped with a call and continues later.
    @Test func aCallDoesNotWaitForASilentGateway() async throws {
        let configuration = try ipc()
        try await Task.detached {
            let gateway = try ZeroMQSocket(.router, context: ZeroMQContext())
            try gateway.bind(configuration.endpoint)
            let catalog = try await endpoint(configuration, "catalog")
            defer { catalog.stop() }
            typealias Received = (lane: [UInt8], message: BusMessage)
            func receive(_ isMeant: @escaping (BusMessage) -> Bool) async throws -> Received {
                var found: Received?
                try await eventually("it comes") {
                    guard let frames = try gateway.receive() else { return false }
                    let message = try BusMessage(frames: frames[1...])
                    if isMeant(message) { found = (frames[0], message) }
                    return found != nil
                }
                return try #require(found)
            }
            func probe(_ lane: [UInt8], every milliseconds: Int64) throws {
                var probe = Envelope()
                (probe.version, probe.form, probe.remaining) = (BusMessage.version, .hello, milliseconds)
                _ = try gateway.send([lane, probe.serializedBytes(), []])
            }
            var change = request("mail.send.v1", timeout: .seconds(60))
            change.writes = true
            let sent = change
            async let lost = catalog.call(sent)
            let (lane, _) = try await receive { $0.envelope.form == .request }
            try probe(lane, every: 100)
            do {
                _ = try await lost
                Issue.record("The call was answered.")
            } catch let error as BusFailure {
                #expect(error.failure == BusFailure.outcomeUnknown.failure)
            }
            // The gateway will treat it as a new connection.
            _ = try await receive { message in
                message.envelope.form == .hello && (try? Hello(serializedBytes: message.body))?.connection == 2
            }

            try probe(lane, every: 60_000)
            async let reply = catalog.call(request("mail.send.v1"))
            let question = try await receive { $0.envelope.form == .request }
            let answer = try question.message.envelope.reply().serializedBytes() as [UInt8]
            _ = try gateway.send([question.lane, answer, question.message.body])
            #expect(try await reply.body == Array("body".utf8))
        }.value
    }
}
