import CZeroMQ
import Logging
import Messages
import Synchronization

/// The lanes of a service to one gateway.
final class GatewayLink: Sendable {
    typealias MakeHandler = @Sendable (_ lane: Int) throws -> any LaneHandler

    /// The endpoint of the gateway.
    let endpoint: String
    /// From 1, unique among the links of this process.
    let number: Int
    private let lanes: [LaneLink]
    private let calls: CallTable
    private let state = Mutex(State())

    private struct State {
        /// The lanes that are connected.
        var connected: Set<Int> = []
        /// The gateway was removed from the list.
        var isEnding = false
        var turn = 0
    }

    /// - Parameters:
    ///   - calls: notified when the gateway becomes available or unavailable.
    ///   - news: holds replies whose invalidations gateways must get first; nil if gateways cache nothing of the
    ///     service.
    /// - Throws: `ThreadMailboxError`.
    init(_ endpoint: String, number: Int, laneCount: Int, calls: CallTable, news: InvalidationSender?) throws {
        self.endpoint = endpoint
        self.number = number
        self.calls = calls
        lanes = try (0..<laneCount).map { _ in try LaneLink(news: news) }
    }

    /// Connects the lanes.
    /// - Parameters:
    ///   - context: shared by all lanes: one I/O thread, whose wake-ups then serve several sockets at once.
    ///   - identity: identifies the process. Its lanes' routing ids add a suffix.
    ///   - ticked: called about twice a second by each lane.
    ///   - makeHandler: runs on the lane's thread.
    func start(
        _ configuration: BusConfiguration, context: ZeroMQContext, identity: String, hello: Hello,
        ticked: @escaping @Sendable () -> Void, makeHandler: @escaping MakeHandler, logger: Logger
    ) async throws {
        for (index, lane) in lanes.enumerated() {
            let name = number == 1 ? "bus-lane-\(index)" : "bus-lane-\(number).\(index)"
            let watch = LaneWatch(link: self, index: index, ticked: ticked)
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let once = Once(continuation)
                lane.thread.start(
                    name: name, monitoring: ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED, logger: logger
                ) {
                    let socket = try ZeroMQSocket(.dealer, context: context)
                    try configuration.configureClient(socket)
                    try socket.set(ZMQ_ROUTING_ID, "\(identity)-\(index)")
                    return socket
                } open: { [endpoint] in
                    try $0.connect(endpoint)
                } makeDriver: { socket in
                    LaneDriver(
                        socket: socket, link: lane, handler: try makeHandler(index), hello: hello, watch: watch,
                        faults: configuration.faults.map {
                            LaneFaults(file: $0, service: hello.service, logger: logger)
                        },
                        logger: logger)
                } started: {
                    once.resume($0)
                }
            }
        }
    }

    /// Whether all lanes are connected to the gateway.
    var isThere: Bool { state.withLock { $0.connected.count == lanes.count } }

    /// Whether one of these lanes belongs to the link.
    func has(_ others: [LaneLink]) -> Bool { lanes.contains { lane in others.contains { $0 === lane } } }

    /// Posts work to all lanes.
    func post(_ work: LaneLink.Work) {
        for lane in lanes { lane.thread.mailbox.post(work) }
    }

    /// Sends a request on one of the lanes, round robin.
    func call(_ message: BusMessage, outcome: @escaping @Sendable (LaneLink.CallOutcome) -> Void) {
        let lane = state.withLock { state in
            state.turn = (state.turn + 1) % lanes.count
            return lanes[state.turn]
        }
        if !lane.thread.mailbox.post(.call(message, outcome)) { outcome(.unsent) }
    }

    /// See `BusEndpoint.leave`.
    func leave(until end: ContinuousClock.Instant) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for lane in lanes {
                group.addTask {
                    await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                        let work = LaneLink.Work.leave(until: end) { continuation.resume(returning: $0) }
                        if !lane.thread.mailbox.post(work) { continuation.resume(returning: false) }
                    }
                }
            }
            return await group.reduce(true) { $0 && $1 }
        }
    }

    /// Ends the lanes to a removed gateway, after its pending requests and calls.
    /// - Parameter limit: longest wait for them.
    func end(within limit: Duration) async {
        state.withLock { $0.isEnding = true }
        calls.left(self)
        let end = ContinuousClock.now + limit
        // A disconnected gateway cannot confirm a goodbye.
        if isThere { _ = await leave(until: end) }
        while !lanes.allSatisfy(\.isIdle), isThere, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
        }
        if isThere { _ = await leave(until: end) }
        stop()
    }

    /// Ends the lanes at once.
    func stop() { post(.stop) }

    fileprivate func connected(_ lane: Int) {
        let isComplete = state.withLock { state in
            state.connected.insert(lane)
            return state.connected.count == lanes.count && !state.isEnding
        }
        if isComplete { calls.arrived(self) }
    }

    /// The gateway still sends replies and requests, but calls go through other gateways until it reconnects.
    fileprivate func gatewayLeaves() { calls.left(self) }

    fileprivate func disconnected(_ lane: Int) {
        state.withLock { _ = $0.connected.remove(lane) }
        calls.left(self)
    }
}

/// Receives the connection events of a lane.
struct LaneWatch: Sendable {
    fileprivate let link: GatewayLink
    fileprivate let index: Int
    /// Called about twice a second.
    let ticked: @Sendable () -> Void

    func connected() { link.connected(index) }
    func disconnected() { link.disconnected(index) }
    func gatewayLeaves() { link.gatewayLeaves() }
}
