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
            for _ in 0..<4 { Task { _ = try? await catalog.call(request("mail.send.v1", body)) } }
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
            try await eventually("both lanes say hello and send a call") {
                if let frames = try gateway.receive(), frames[2].count < 1 << 20 { lanes.insert(frames[0]) }
                return lanes.count == 2
            }
            try await Task.sleep(for: .milliseconds(500))
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
            var lanes: Set<[UInt8]> = []
            try await eventually("both lanes say hello") {
                if let frames = try gateway.receive() { lanes.insert(frames[0]) }
                return lanes.count == 2
            }
            var probe = Envelope()
            (probe.version, probe.form, probe.remaining) = (BusMessage.version, .hello, 100)
            for lane in lanes { _ = try gateway.send([lane, probe.serializedBytes(), []]) }
            var change = request("mail.send.v1", timeout: .seconds(600))
            change.writes = true
            do {
                _ = try await catalog.call(change)
                Issue.record("The call was answered.")
            } catch let error as BusFailure {
                #expect(error.failure == BusFailure.outcomeUnknown.failure)
            }

            probe.remaining = 60_000
            for lane in lanes { _ = try gateway.send([lane, probe.serializedBytes(), []]) }
            async let reply = catalog.call(request("mail.send.v1"))
            try await eventually("the call comes and is answered") {
                guard let frames = try gateway.receive(), let message = try? BusMessage(frames: frames[1...]),
                    message.envelope.form == .request, !message.envelope.writes
                else { return false }
                let answer = try message.envelope.reply().serializedBytes() as [UInt8]
                return try gateway.send([frames[0], answer, message.body]) == .sent
            }
            #expect(try await reply.body == Array("body".utf8))
        }.value
    }
}
