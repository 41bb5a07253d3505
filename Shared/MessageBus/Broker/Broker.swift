import CZeroMQ
import Glibc
import Logging
import Messages
import ParseProtocol
import Synchronization

/// The gateway's end of the bus: binds the ROUTER socket that services connect to, and routes requests between them.
public final class Broker: Sendable {
    /// Receives the reply to a request of the gateway itself. Called on the broker's thread, so it must not block.
    public typealias Completion = @Sendable (Result<BusReply, BusFailure>) -> Void
    /// Answers a service's request to the gateway itself by `ServiceRequest.reply`, now or later. Called on the
    /// broker's thread, so it must not block.
    public typealias Answerer = @Sendable (ServiceRequest) -> Void

    /// Receives invalidations that no reply to this gateway carries: those of other gateways' calls, and those that may
    /// have been missed. Called on the broker's thread. It calls `done` once, on any thread, when the invalidated
    /// knowledge can no longer be used.
    /// - isGap: invalidations may have been missed before. Notices that were decided on the old knowledge must be
    ///   dropped.
    public typealias InvalidationHandler =
        @Sendable (_ forget: Forget, _ isGap: Bool, _ done: @escaping @Sendable () -> Void) -> Void

    enum Work: Sendable {
        /// - replica: as `BusRequest.replica`.
        case request(BusMessage, replica: String?, Completion)
        case answer(BusMessage, lane: [UInt8])
        /// This gateway has applied the invalidation of a round (`InvalidationRounds`).
        case forgot(round: UInt64, lane: [UInt8])
        case countRequests(@Sendable ([String: Int]) -> Void)
        case countWaiting(@Sendable ([String: Int]) -> Void)
        case countLanes(@Sendable ([String: Int]) -> Void)
        case countUnanswered(@Sendable ([String: Int]) -> Void)
        /// The completion is called once.
        case leave(until: ContinuousClock.Instant, @Sendable () -> Void)
        case stop
    }

    /// The state of a service's replicas, as the broker knows it.
    public struct ServiceState: Sendable, Equatable {
        /// Names of the processes, sorted.
        public var replicas: [String] = []
        /// Whether a replica is a writer.
        public var hasWriter = false
        /// The fault that a replica reports; empty when none does, or when another replica writes without one.
        public var problem = ""
        /// A degradation, or a fault of a replica while another one writes; empty when there is none.
        public var warning = ""
        /// The identity of the writer's board of changes. Set only if every replica that could write next keeps its
        /// board on this host; else 0.
        public var board: UInt64 = 0
        /// The replicas that run the edition named by the latest writer, sorted; nil if no writer named one.
        public var current: [String]?

        /// The problem, or else the warning.
        public var trouble: String { problem.isEmpty ? warning : problem }

        /// A service without replicas.
        public init() {}
    }

    private let thread: SocketThread<Work>
    private let configuration: BusConfiguration
    private let logger: Logger
    private let onForget: @Sendable (Forget) -> Void
    private let leases: [LeasedCache]
    private let onInvalidation: InvalidationHandler
    private let onStates: @Sendable ([String: ServiceState]) -> Void
    private let onBatchEnd: @Sendable () -> Void
    private let states = Mutex<[String: ServiceState]>([:])
    private let endpointLock = Mutex<Int32?>(nil)

    /// - Parameters:
    ///   - onForget: called on the broker's thread before the reply with the invalidation is passed on.
    ///   - leases: the cached knowledge of services that, with several gateways, is valid only under a lease.
    ///   - onInvalidation: called for invalidations by other gateways' calls, and when invalidations may have been
    ///     missed.
    ///   - onStates: called on the broker's thread when `services` changed.
    ///   - onBatchEnd: called on the broker's thread after a batch of completions, before the thread waits.
    public init(
        configuration: BusConfiguration, logger: Logger, onForget: @escaping @Sendable (Forget) -> Void = { _ in },
        leases: [LeasedCache] = [], onInvalidation: @escaping InvalidationHandler = { _, _, done in done() },
        onStates: @escaping @Sendable ([String: ServiceState]) -> Void = { _ in },
        onBatchEnd: @escaping @Sendable () -> Void = {}
    ) throws {
        thread = try SocketThread()
        self.configuration = configuration
        self.logger = logger
        self.onForget = onForget
        self.leases = leases
        self.onInvalidation = onInvalidation
        self.onStates = onStates
        self.onBatchEnd = onBatchEnd
    }

    /// Binds the endpoint and starts the thread.
    /// - Parameters:
    ///   - answering: the request kinds that the gateway answers itself. These requests are passed on at once, without
    ///     a queue or a limit.
    ///   - withoutWindow: the services that get all requests at once (`Dispatcher`).
    /// - Throws: `BusConfiguration.Problem` when another broker holds the endpoint, `ZeroMQError` when it cannot be
    ///   bound.
    public func start(answering: [String: Answerer] = [:], withoutWindow: Set<String> = []) async throws {
        let lock = try configuration.lockEndpoint()
        endpointLock.withLock { $0 = lock }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let once = Once(continuation)
            thread.start(name: "bus-broker", monitoring: ZMQ_EVENT_DISCONNECTED, logger: logger) {
                [configuration, logger] in
                let context = try ZeroMQContext()
                let socket = try ZeroMQSocket(.router, context: context)
                try configuration.configureServer(socket, context: context, logger: logger)
                // Without this option ROUTER silently drops undeliverable messages; with it, sending to a dead peer
                // fails.
                try socket.set(ZMQ_ROUTER_MANDATORY, 1)
                // Lets a service reconnect under the same routing id before this side has noticed that the old
                // connection broke.
                try socket.set(ZMQ_ROUTER_HANDOVER, 1)
                return socket
            } open: { [configuration] in
                try $0.bind(configuration.endpoint)
            } makeDriver: { [self] socket in
                BrokerDriver(
                    socket: socket, answering: answering, withoutWindow: withoutWindow, mailbox: thread.mailbox,
                    logger: logger, onForget: onForget, leases: leases, onInvalidation: onInvalidation,
                    onStates: { [self] new in
                        states.withLock { $0 = new }
                        onStates(new)
                    }, onBatchEnd: onBatchEnd)
            } started: {
                once.resume($0)
            } ended: { [self] in
                // The lock is held until the socket is closed; then another broker may bind the endpoint.
                endpointLock.withLock { lock in
                    if let descriptor = lock { close(descriptor) }
                    lock = nil
                }
            }
        }
    }

    /// Asks the services to send their calls through other gateways, or the next one, and waits for the running calls.
    /// - Parameter limit: the longest wait for calls.
    public func leave(within limit: Duration) async {
        let end = ContinuousClock.now + limit
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            if !thread.mailbox.post(.leave(until: end) { continuation.resume() }) { continuation.resume() }
        }
    }

    /// Ends the thread; pending requests fail.
    public func stop() { thread.mailbox.post(.stop) }

    /// Sends a request and calls `completion` exactly once: on the broker's thread, or at once when the broker has
    /// stopped.
    /// - Parameter wakes: false if `wake` is called after a series of requests.
    public func call(_ request: BusRequest, wakes: Bool = true, completion: @escaping Completion) {
        logger.debug(
            "Asks a service.", metadata: ["bus.kind": "\(request.kind)", "request.id": "\(request.traceId)"])
        guard request.isTraced else { return post(request, wakes: wakes, completion) }
        var request = request
        let span = request.beginSpan()
        post(request, wakes: wakes) { result in
            span?.end(isError: result.isFault)
            completion(result)
        }
    }

    private func post(_ request: BusRequest, wakes: Bool, _ completion: @escaping Completion) {
        let message = BusMessage(envelope: request.envelope, body: request.body, documents: request.documents)
        if !thread.mailbox.post(.request(message, replica: request.replica, completion), wakes: wakes) {
            completion(.failure(.unavailable("Satchel is stopping.")))
        }
    }

    /// Wakes the broker's thread for requests sent with `wakes: false`.
    public func wake() { thread.mailbox.wakeForWork() }

    /// Sends a request and waits for its reply.
    /// - Throws: `BusFailure`.
    public func call(_ request: BusRequest) async throws(BusFailure) -> BusReply {
        try await request.budgeted {
            await withCheckedContinuation { continuation in
                call(request) { continuation.resume(returning: $0) }
            }
        }
    }

    /// Requests sent to each replica since it joined, by its name such as `catalog-2`; shows how evenly they are
    /// distributed. Empty while the broker stops.
    public var requestsByReplica: [String: Int] { get async { await counted(Work.countRequests) } }

    /// Requests that wait for a lane, by service, without services that have none. Empty while the broker stops.
    public var waitingByService: [String: Int] { get async { await counted(Work.countWaiting) } }

    /// Connected lanes by service. Empty while the broker stops.
    public var lanesByService: [String: Int] { get async { await counted(Work.countLanes) } }

    /// Requests that a lane has and did not answer yet, by service. Empty while the broker stops.
    public var unansweredByService: [String: Int] { get async { await counted(Work.countUnanswered) } }

    private func counted(_ work: (@escaping @Sendable ([String: Int]) -> Void) -> Work) async -> [String: Int] {
        await withCheckedContinuation { continuation in
            if !thread.mailbox.post(work({ continuation.resume(returning: $0) })) {
                continuation.resume(returning: [:])
            }
        }
    }

    /// The connected services, by name.
    public var services: [String: ServiceState] { states.withLock { $0 } }
}

/// Sends the gateway's own reply to the lane of the request.
struct BrokerReplyPath: ReplyPath {
    let mailbox: ThreadMailbox<Broker.Work>
    let lane: [UInt8]

    func send(_ message: BusMessage, in _: ReplyBatch?) { mailbox.post(.answer(message, lane: lane)) }
}

/// Resumes a continuation at the first call and ignores later calls.
final class Once: Sendable {
    private let continuation: Mutex<CheckedContinuation<Void, any Error>?>

    init(_ continuation: CheckedContinuation<Void, any Error>) {
        self.continuation = Mutex(continuation)
    }

    func resume(_ result: Result<Void, any Error>) {
        continuation.withLock { stored in
            defer { stored = nil }
            return stored
        }?.resume(with: result)
    }
}
