import CZeroMQ
import Logging
import Messages
import Synchronization

/// A service's end of the bus: a few lanes that dial the gateway, take requests and carry calls to other services.
public final class BusEndpoint: Sendable {
    private let configuration: BusConfiguration
    private let lanes: [LaneLink]
    /// What each lane says first.
    private let hello: Mutex<Hello>
    private let logger: Logger
    private let nextLane = Atomic<Int>(0)
    private let hasStarted = Atomic<Bool>(false)

    /// - Parameters:
    ///   - replica: name of this process, unique in the suite.
    ///   - laneCount: sockets and threads, 1 to 16.
    ///   - keepsBoard: whether this process, as the writer, has a board for `setWriter`.
    public init(
        configuration: BusConfiguration, service: String, replica: String, release: String, laneCount: Int,
        keepsBoard: Bool = false, logger: Logger
    ) throws {
        self.configuration = configuration
        self.logger = logger
        lanes = try (0..<max(1, min(laneCount, 16))).map { _ in try LaneLink() }
        hello = Mutex(
            Hello.with {
                $0.service = service
                $0.replica = replica
                $0.release = release
                $0.clock = keepsBoard ? BusClock.name : 0
            })
    }

    /// Connects every lane. `makeHandler` runs on the lane's thread.
    public func start(makeHandler: @escaping @Sendable (_ lane: Int) throws -> any LaneHandler) async throws {
        hasStarted.store(true, ordering: .relaxed)
        let hello = hello.withLock(\.self)
        let identity = "\(hello.replica)-\(UInt64.random(in: .min ... .max))"
        // One context for all lanes: one I/O thread, whose wake-ups then serve several sockets at once.
        let context = try ZeroMQContext()
        for (index, link) in lanes.enumerated() {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let once = Once(continuation)
                link.thread.start(name: "bus-lane-\(index)", monitoring: ZMQ_EVENT_HANDSHAKE_SUCCEEDED, logger: logger)
                {
                    [self] in
                    let socket = try ZeroMQSocket(.dealer, context: context)
                    try configuration.configureClient(socket)
                    try socket.set(ZMQ_ROUTING_ID, "\(identity)-\(index)")
                    try socket.connect(configuration.endpoint)
                    return LaneDriver(
                        socket: socket, link: link, handler: try makeHandler(index), hello: hello, logger: logger)
                } started: {
                    once.resume($0)
                }
            }
        }
    }

    /// Tells the gateway whether this process holds the writer's lock.
    /// - Parameter board: the board on which it says what it is about to change (`ChangeBoard`); 0 for none.
    public func setWriter(_ isWriter: Bool, board: UInt64 = 0) {
        for lane in lanes { lane.thread.mailbox.post(.setWriter(isWriter, board: board)) }
    }

    /// Tells the gateway what keeps this process from working as it should; empty when nothing does. Said before the
    /// start, it is what the gateway hears first.
    public func setProblem(_ problem: String) {
        hello.withLock { $0.problem = problem }
        for lane in lanes { lane.thread.mailbox.post(.setProblem(problem)) }
    }

    /// Tells the gateway what this process runs and can run now (`Hello.edition`); 0 when it is nothing.
    public func setEdition(_ edition: UInt64) {
        for lane in lanes { lane.thread.mailbox.post(.setEdition(edition)) }
    }

    /// Tells the gateway what is missing while this process serves all the same; empty when nothing is.
    public func setWarning(_ warning: String) {
        for lane in lanes { lane.thread.mailbox.post(.setWarning(warning)) }
    }

    /// Asks for no more requests, and waits until the gateway has heard it: after that none comes, and the gateway has
    /// every answer that was given before. Those under way can still be answered, and calls of our own go on. Done
    /// again, it waits for what was answered meanwhile.
    /// - Parameter limit: for a gateway that is not there.
    /// - Returns: whether the gateway has heard it.
    @discardableResult
    public func leave(within limit: Duration) async -> Bool {
        let end = ContinuousClock.now + limit
        return await withTaskGroup(of: Bool.self) { group in
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

    /// Ends the lanes. Calls are refused from then on, also those of an endpoint that never started.
    public func stop() {
        guard hasStarted.load(ordering: .relaxed) else {
            for lane in lanes {
                for case .call(_, let completion) in lane.thread.mailbox.close() {
                    completion(.failure(.unavailable("The service is stopping.")))
                }
            }
            return
        }
        for lane in lanes { lane.thread.mailbox.post(.stop) }
    }

    /// Sends a request to another service and waits for its answer.
    /// - Throws: `BusFailure`, also when the deadline passes.
    public func call(_ request: BusRequest) async throws(BusFailure) -> BusReply {
        let lane = lanes[
            Int(UInt(bitPattern: nextLane.wrappingAdd(1, ordering: .relaxed).newValue) % UInt(lanes.count))]
        return try await request.budgeted { request in
            let message = BusMessage(envelope: request.envelope, body: request.body, documents: request.documents)
            return await withCheckedContinuation { continuation in
                let accepted = lane.thread.mailbox.post(.call(message) { continuation.resume(returning: $0) })
                if !accepted { continuation.resume(returning: .failure(.unavailable("The service is stopping."))) }
            }
        }
    }
}
