import CZeroMQ

/// A failed ZeroMQ call with the library's error number.
public struct ZeroMQError: Error, CustomStringConvertible {
    /// The function's name, such as `zmq_bind`.
    public let call: StaticString
    /// The value of `zmq_errno()`.
    public let number: Int32

    init(_ call: StaticString) {
        self.call = call
        self.number = zmq_errno()
    }

    /// The function's name and the library's text for the error number.
    public var description: String { "\(call): \(String(cString: zmq_strerror(number)))" }
}

/// A ZeroMQ context. Contexts are thread-safe (zmq_ctx_new(3)); sockets are not.
public final class ZeroMQContext: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    /// A new context with one I/O thread.
    /// - Throws: `ZeroMQError`.
    public init() throws {
        guard let pointer = zmq_ctx_new() else { throw ZeroMQError("zmq_ctx_new") }
        self.pointer = pointer
        // With ZMQ_BLOCKY 0, terminating the context does not wait for unsent messages (zmq_ctx_set(3)). The other
        // defaults suffice: 1,023 sockets, and one I/O thread that carries about 4 million messages a second.
        guard zmq_ctx_set(pointer, ZMQ_BLOCKY, 0) == 0 else { throw ZeroMQError("zmq_ctx_set") }
    }

    deinit { zmq_ctx_term(pointer) }
}

/// One socket, owned by one thread for its whole life (zmq_socket(3): "ØMQ sockets are not thread safe").
public final class ZeroMQSocket {
    /// The socket types used by the bus (zmq_socket(3)).
    public enum Kind {
        case router, dealer, pair, reply
        var number: Int32 {
            switch self {
            case .router: ZMQ_ROUTER
            case .dealer: ZMQ_DEALER
            case .pair: ZMQ_PAIR
            case .reply: ZMQ_REP
            }
        }
    }

    let pointer: UnsafeMutableRawPointer
    private let context: ZeroMQContext
    private var message = zmq_msg_t()
    /// Whether the last use was a `receive` without a message. Only then does the next event make `descriptor`
    /// readable.
    private(set) var isDrained = false

    /// A socket without an endpoint. Closing it drops unsent messages (ZMQ_LINGER 0).
    /// - Throws: `ZeroMQError`.
    public init(_ kind: Kind, context: ZeroMQContext) throws {
        guard let pointer = zmq_socket(context.pointer, kind.number) else { throw ZeroMQError("zmq_socket") }
        self.pointer = pointer
        self.context = context
        zmq_msg_init(&message)
        try set(ZMQ_LINGER, 0)
    }

    deinit {
        zmq_msg_close(&message)
        zmq_close(pointer)
    }

    /// Sets an option whose value is an `int` (zmq_setsockopt(3)).
    /// - Throws: `ZeroMQError`.
    public func set(_ option: Int32, _ value: Int32) throws {
        var value = value
        guard zmq_setsockopt(pointer, option, &value, MemoryLayout<Int32>.size) == 0 else {
            throw ZeroMQError("zmq_setsockopt")
        }
    }

    /// Sets an option whose value is an `int64_t` (zmq_setsockopt(3)).
    /// - Throws: `ZeroMQError`.
    public func set(_ option: Int32, wide value: Int64) throws {
        var value = value
        guard zmq_setsockopt(pointer, option, &value, MemoryLayout<Int64>.size) == 0 else {
            throw ZeroMQError("zmq_setsockopt")
        }
    }

    /// Sets an option whose value is a text (zmq_setsockopt(3)).
    /// - Throws: `ZeroMQError`.
    public func set(_ option: Int32, _ value: String) throws {
        guard zmq_setsockopt(pointer, option, value, value.utf8.count) == 0 else { throw ZeroMQError("zmq_setsockopt") }
    }

    /// Becomes readable with an event (ZMQ_FD in zmq_getsockopt(3)); see `isDrained`.
    /// - Throws: `ZeroMQError`.
    func descriptor() throws -> Int32 {
        var (descriptor, size) = (Int32(-1), MemoryLayout<Int32>.size)
        guard zmq_getsockopt(pointer, ZMQ_FD, &descriptor, &size) == 0 else { throw ZeroMQError("zmq_getsockopt") }
        return descriptor
    }

    /// Accepts connections at `endpoint`.
    /// - Throws: `ZeroMQError`.
    public func bind(_ endpoint: String) throws {
        isDrained = false
        guard zmq_bind(pointer, endpoint) == 0 else { throw ZeroMQError("zmq_bind") }
    }

    /// Connects to `endpoint`, now or as soon as a peer listens there.
    /// - Throws: `ZeroMQError`.
    public func connect(_ endpoint: String) throws {
        isDrained = false
        guard zmq_connect(pointer, endpoint) == 0 else { throw ZeroMQError("zmq_connect") }
    }

    /// A socket that receives this socket's `events` (zmq_socket_monitor(3)).
    public func monitor(_ events: Int32, name: String) throws -> ZeroMQSocket {
        let endpoint = "inproc://monitor-\(name)"
        guard zmq_socket_monitor(pointer, endpoint, events) == 0 else { throw ZeroMQError("zmq_socket_monitor") }
        let observer = try ZeroMQSocket(.pair, context: context)
        try observer.connect(endpoint)
        return observer
    }

    /// The outcome of a non-blocking send: sent, peer not connected, or queue full.
    public enum SendResult { case sent, unreachable, full }

    /// Sends all frames as one message, or none of them.
    public func send(_ frames: some Collection<[UInt8]>) throws -> SendResult {
        isDrained = false
        var remaining = frames.count
        for frame in frames {
            remaining -= 1
            let flags = ZMQ_DONTWAIT | (remaining > 0 ? ZMQ_SNDMORE : 0)
            while true {
                let sent = frame.withUnsafeBytes { zmq_send(pointer, $0.baseAddress, $0.count, flags) }
                if sent >= 0 { break }
                switch zmq_errno() {
                case EINTR: continue
                case EHOSTUNREACH: return .unreachable  // ROUTER with ZMQ_ROUTER_MANDATORY: the peer is gone.
                case EAGAIN: return .full
                default: throw ZeroMQError("zmq_send")
                }
            }
        }
        return .sent
    }

    /// The next complete message, or nil when none is available.
    public func receive() throws -> [[UInt8]]? {
        var frames: [[UInt8]] = []
        isDrained = false
        while true {
            if zmq_msg_recv(&message, pointer, frames.isEmpty ? ZMQ_DONTWAIT : 0) < 0 {
                switch zmq_errno() {
                case EINTR: continue
                case EAGAIN where frames.isEmpty:
                    isDrained = true
                    return nil
                default: throw ZeroMQError("zmq_msg_recv")
                }
            }
            // A routing id, an envelope, a body and a document.
            if frames.isEmpty { frames.reserveCapacity(4) }
            frames.append([UInt8](UnsafeRawBufferPointer(start: zmq_msg_data(&message), count: zmq_msg_size(&message))))
            if zmq_msg_more(&message) == 0 { return frames }
        }
    }
}
