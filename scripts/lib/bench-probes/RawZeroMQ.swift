import ArgumentParser
import CZeroMQ
import Foundation

/// Plain ZeroMQ: ROUTER and DEALER on two threads with 64 requests in flight, the upper bound for the bus.
struct RawZeroMQ: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "raw-zeromq", abstract: "Sends messages there and back and prints round trips per second.")

    @Option var path: String
    @Option var seconds = 3.0
    @Option var window = 64
    @Option var messageBytes = 1000

    func run() throws {
        guard let created = zmq_ctx_new() else { throw ExitCode.failure }
        nonisolated(unsafe) let context = created  // Contexts are thread-safe (zmq_ctx_new(3)).
        guard let router = zmq_socket(context, ZMQ_ROUTER), zmq_bind(router, "ipc://\(path)") == 0,
            let dealer = zmq_socket(context, ZMQ_DEALER), zmq_connect(dealer, "ipc://\(path)") == 0
        else { throw ExitCode.failure }
        let echo = Thread {
            guard let socket = zmq_socket(context, ZMQ_DEALER), zmq_connect(socket, "ipc://\(path)") == 0 else {
                return
            }
            zmq_send(socket, "ready", 5, 0)
            var message = zmq_msg_t()
            zmq_msg_init(&message)
            while zmq_msg_recv(&message, socket, 0) >= 0 { zmq_msg_send(&message, socket, 0) }
        }
        zmq_close(dealer)
        echo.start()
        var identity = [UInt8](repeating: 0, count: 256)
        let identityCount = Int(zmq_recv(router, &identity, identity.count, 0))
        var message = [UInt8](repeating: 1, count: max(messageBytes, 5))
        zmq_recv(router, &message, message.count, 0)
        func send() {
            zmq_send(router, identity, identityCount, ZMQ_SNDMORE)
            zmq_send(router, message, message.count, 0)
        }
        for _ in 0..<window { send() }
        let start = Date()
        var trips = 0
        while Date().timeIntervalSince(start) < seconds {
            for _ in 0..<1000 {
                zmq_recv(router, &identity, identity.count, 0)
                zmq_recv(router, &message, message.count, 0)
                send()
                trips += 1
            }
        }
        print(Int(Double(trips) / Date().timeIntervalSince(start)))
    }
}
