import CZeroMQ
import Foundation
import Logging

/// Handles the events of a socket; every method is called on the socket's thread.
protocol SocketDriver<Work>: AnyObject {
    associatedtype Work: Sendable
    var socket: ZeroMQSocket { get }
    /// Performs all work in its order and empties the list. The drivers loop themselves: in the generic `SocketThread`
    /// each item would cost look-ups of its type.
    func perform(_ work: inout [Work])
    func received(_ frames: [[UInt8]])
    /// Peers connected or disconnected, in this order.
    func peersChanged(_ changes: [PeerChange])
    /// Called about ten times a second while `isWaiting`, else twice; less often while a message takes longer.
    func tick()
    /// Whether `tick` has deadlines to check.
    var isWaiting: Bool { get }
    /// The available work is done. Called before the thread sleeps and before it ends.
    func batchEnded()
    /// False ends the thread.
    var isRunning: Bool { get }
    /// The thread is about to end; `left` is posted work that was not performed.
    func stopped(left: [Work])
}

extension SocketDriver {
    func batchEnded() {}
}

/// A connection event from a socket's monitor.
enum PeerChange {
    case connected, disconnected

    /// - Parameter frames: an event (zmq_socket_monitor(3)): its number in 16 bits, its value, and the endpoint.
    init?(_ frames: [[UInt8]]) {
        guard let event = frames.first, event.count >= 2 else { return nil }
        switch event.withUnsafeBytes({ Int32($0.loadUnaligned(as: UInt16.self)) }) {
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: self = .connected
        case ZMQ_EVENT_DISCONNECTED: self = .disconnected
        default: return nil
        }
    }
}

/// Runs one socket on one thread: posted work, received messages and monitor events, each in batches.
final class SocketThread<Work: Sendable>: Sendable {
    let mailbox: ThreadMailbox<Work>

    init() throws { mailbox = try ThreadMailbox() }

    /// Starts the thread. All closures but `started` and `ended` run on it, so the thread that uses the socket also
    /// creates it.
    /// - Parameters:
    ///   - makeSocket: creates a socket without peers, so that it is monitored from its first connection on.
    ///   - open: connects or binds it.
    func start(
        name: String, monitoring events: Int32, logger: Logger,
        makeSocket: @escaping @Sendable () throws -> ZeroMQSocket,
        open: @escaping @Sendable (ZeroMQSocket) throws -> Void,
        makeDriver: @escaping @Sendable (ZeroMQSocket) throws -> any SocketDriver<Work>,
        started: @escaping @Sendable (Result<Void, any Error>) -> Void,
        ended: @escaping @Sendable () -> Void = {}
    ) {
        let mailbox = mailbox
        startThread(named: name) {
            do {
                let socket = try makeSocket()
                let monitor = try socket.monitor(events, name: name)
                try open(socket)
                let driver = try makeDriver(socket)
                started(.success(()))
                do {
                    try Self.drive(driver, monitor: monitor, mailbox: mailbox)
                } catch {
                    // Without its socket the process receives nothing but looks alive, so it exits and the supervisor
                    // restarts it.
                    logger.critical("A bus thread failed.", metadata: ["thread": "\(name)", "error": "\(error)"])
                    driver.stopped(left: mailbox.close())
                    driver.batchEnded()
                    exit(1)
                }
            } catch {
                started(.failure(error))
            }
            ended()
        }
    }

    /// Messages handled before the mailbox is checked again, so that neither side starves the other.
    private static var batchMax: Int { 256 }
    /// Time for messages before the mailbox is checked again: with slow handlers, replies and heartbeats leave in
    /// between.
    private static var batchDurationMax: Duration { .milliseconds(5) }

    private static func drive<D: SocketDriver<Work>>(
        _ driver: D, monitor: ZeroMQSocket, mailbox: ThreadMailbox<Work>
    ) throws {
        var work: [Work] = []
        // `zmq_poll` would take ten system calls for each sleep.
        var polled = try [driver.socket.descriptor(), mailbox.wakeDescriptor, monitor.descriptor()].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        try reportPeers(driver, monitor)  // Drains the monitor.
        let clock = ContinuousClock()  // Monotonic: the wall clock may be set back.
        var lastTick = clock.now
        while driver.isRunning {
            mailbox.drain(into: &work)
            let hasWork = !work.isEmpty
            if hasWork { driver.perform(&work) }
            var received = 0
            let start = clock.now
            var now = start
            while received < batchMax, now - start < batchDurationMax, let frames = try driver.socket.receive() {
                driver.received(frames)
                received += 1
                now = clock.now
            }
            let pauseMilliseconds = driver.isWaiting ? 100 : 500
            if now - lastTick >= .milliseconds(pauseMilliseconds) {
                lastTick = now
                // Also needed while the loop never sleeps.
                try reportPeers(driver, monitor)
                driver.tick()
            }
            driver.batchEnded()
            if received > 0 || hasWork || !driver.socket.isDrained { continue }
            guard mailbox.prepareToSleep() else { continue }
            let ready = poll(&polled, nfds_t(polled.count), Int32(pauseMilliseconds))
            if ready < 0, errno != EINTR { throw ZeroMQError("poll") }
            mailbox.awake()
            if ready > 0, polled[2].revents != 0 { try reportPeers(driver, monitor) }
        }
        driver.stopped(left: mailbox.close())
        driver.batchEnded()
    }

    private static func reportPeers(_ driver: some SocketDriver<Work>, _ monitor: ZeroMQSocket) throws {
        var changes: [PeerChange] = []
        while let frames = try monitor.receive() { PeerChange(frames).map { changes.append($0) } }
        if !changes.isEmpty { driver.peersChanged(changes) }
    }
}

/// Starts a thread with a name for `ps -L` and debuggers (its first 15 characters).
func startThread(named name: String, _ body: @escaping @Sendable () -> Void) {
    let thread = Thread {
        Thread.current.name = name
        body()
    }
    thread.start()
}
