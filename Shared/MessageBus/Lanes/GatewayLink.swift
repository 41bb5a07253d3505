import CZeroMQ
import Logging
import Messages
import Synchronization

/// The lanes of a service to one gateway.
final class GatewayLink: Sendable {
    typealias MakeHandler = @Sendable (_ lane: Int) throws -> any LaneHandler

    /// Where the gateway is dialled.
    let endpoint: String
    /// From 1, and of no other link of this process.
    let number: Int
    private let lanes: [LaneLink]
    private let calls: CallTable
    private let state = Mutex(State())

    private struct State {
        /// The lanes that are connected.
        var connected: Set<Int> = []
        /// The gateway is no longer one of this process's.
        var isEnding = false
        var turn = 0
    }

    /// - Parameters:
    ///   - calls: hears when the gateway is there.
    ///   - news: whoever tells gateways what they must forget.
    /// - Throws: `ThreadMailboxError`.
    init(_ endpoint: String, number: Int, laneCount: Int, calls: CallTable, news: GatewayNews?) throws {
        self.endpoint = endpoint
        self.number = number
        self.calls = calls
        lanes = try (0..<laneCount).map { _ in try LaneLink(news: news) }
    }

    /// Connects the lanes.
    /// - Parameters:
    ///   - context: one for all lanes: one I/O thread, whose wake-ups then serve several sockets at once.
    ///   - identity: of the process. The gateway tells its lanes by what is behind it.
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
                        logger: logger)
                } started: {
                    once.resume($0)
                }
            }
        }
    }

    /// Whether each lane is connected to the gateway.
    var isThere: Bool { state.withLock { $0.connected.count == lanes.count } }

    /// Whether one of the lanes is its own.
    func has(_ others: [LaneLink]) -> Bool { lanes.contains { lane in others.contains { $0 === lane } } }

    /// Hands work to all lanes.
    func post(_ work: LaneLink.Work) {
        for lane in lanes { lane.thread.mailbox.post(work) }
    }

    /// Sends a request by one of the lanes, which take turns.
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

    /// Ends the lanes of a gateway that is no longer one of this process's, when what is under way has ended.
    /// - Parameter limit: how long that is waited for.
    func end(within limit: Duration) async {
        state.withLock { $0.isEnding = true }
        calls.left(self)
        let end = ContinuousClock.now + limit
        // Who is not there cannot hear it.
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

    /// Answers still come, and requests; calls go elsewhere until there is another connection.
    fileprivate func gatewayLeaves() { calls.left(self) }

    fileprivate func disconnected(_ lane: Int) {
        state.withLock { _ = $0.connected.remove(lane) }
        calls.left(self)
    }
}

/// The ear to which a lane tells of its connection.
struct LaneWatch: Sendable {
    fileprivate let link: GatewayLink
    fileprivate let index: Int
    /// Called about twice a second.
    let ticked: @Sendable () -> Void

    func connected() { link.connected(index) }
    func disconnected() { link.disconnected(index) }
    func gatewayLeaves() { link.gatewayLeaves() }
}
