import CZeroMQ
import Glibc
import Logging

/// Admits only holders of the suite's service key (ZeroMQ RFC 27, ZAP). Without it CURVE encrypts, but admits any key.
enum Authenticator {
    /// Answers authentication requests of `context` on a separate thread until the context ends.
    static func start(context: ZeroMQContext, allowedKey: String, logger: Logger) throws {
        var allowed = [UInt8](repeating: 0, count: 32)
        guard zmq_z85_decode(&allowed, allowedKey) != nil else { throw ZeroMQError("zmq_z85_decode") }
        // Must be bound before the caller binds its own socket: a peer that connects earlier would be admitted without
        // a check.
        let socket = Handover(try ZeroMQSocket(.reply, context: context))
        try socket.value.bind("inproc://zeromq.zap.01")
        let key = allowed
        startThread(named: "bus-zap") {
            do {
                try answer(on: socket.value, allowed: key, logger: logger)
            } catch let error as ZeroMQError where error.number == ETERM {
                // The context ended with the bus.
            } catch {
                // Without this thread the bus would admit every key.
                logger.critical("Bus authentication failed.", metadata: ["error": "\(error)"])
                exit(1)
            }
        }
    }

    private static func answer(on socket: ZeroMQSocket, allowed: [UInt8], logger: Logger) throws {
        while true {
            var item = zmq_pollitem_t(socket: socket.pointer, fd: 0, events: Int16(ZMQ_POLLIN), revents: 0)
            guard zmq_poll(&item, 1, -1) >= 0 else {
                if zmq_errno() == EINTR { continue }
                throw ZeroMQError("zmq_poll")
            }
            guard let frames = try socket.receive() else { continue }
            // version, request id, domain, address, identity, mechanism, credentials
            let isAllowed = frames.count == 7 && frames[5] == Array("CURVE".utf8) && frames[6] == allowed
            if !isAllowed {
                let address = frames.count > 3 ? String(decoding: frames[3], as: UTF8.self) : "?"
                logger.warning("Refused a peer with an unknown bus key.", metadata: ["peer": "\(address)"])
            }
            let requestId = frames.count > 1 ? frames[1] : []
            _ = try socket.send([
                Array("1.0".utf8), requestId, Array((isAllowed ? "200" : "400").utf8),
                Array((isAllowed ? "OK" : "Unknown key").utf8), Array("service".utf8), [],
            ])
        }
    }
}

/// Passes a socket to the thread that owns it from then on. ZeroMQ allows this after a full memory barrier
/// (zmq_socket(3)), which the start of a thread provides.
private final class Handover: @unchecked Sendable {
    let value: ZeroMQSocket
    init(_ value: ZeroMQSocket) { self.value = value }
}
