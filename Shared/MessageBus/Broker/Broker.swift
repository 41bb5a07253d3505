import CZeroMQ
import Glibc
import Logging
import Messages
import Synchronization

/// The gateway's end of the bus: binds the ROUTER that services dial, and passes requests between them.
public final class Broker: Sendable {
    /// The answer to a request of the gateway itself; called on the broker's thread, so it must only hand
    /// over.
    public typealias Completion = @Sendable (Result<BusReply, BusFailure>) -> Void
    /// Answers a request that a service makes of the gateway itself, by `ServiceRequest.reply`, now or later. Called on
    /// the broker's thread, so it must only hand over.
    public typealias Answerer = @Sendable (ServiceRequest) -> Void

    /// Hears what must be forgotten although no reply of this gateway carries it, on the broker's thread. It calls
    /// `done` once, on any thread: when nobody can act on it any more.
    /// - isGap: it may have been acted on already, so that nothing may be told any more that was decided before.
    public typealias Told = @Sendable (_ forget: Forget, _ isGap: Bool, _ done: @escaping @Sendable () -> Void) -> Void

    enum Work: Sendable {
        case request(BusMessage, Completion)
        case answer(BusMessage, lane: [UInt8])
        /// What a round told this gateway is forgotten.
        case forgot(round: UInt64, lane: [UInt8])
        case countRequests(@Sendable ([String: Int]) -> Void)
        case countWaiting(@Sendable ([String: Int]) -> Void)
        /// The completion is called once.
        case leave(until: ContinuousClock.Instant, @Sendable () -> Void)
        case stop
    }

    /// The replicas of a service, as the broker knows them.
    public struct ServiceState: Sendable, Equatable {
        /// Names of the processes, sorted.
        public var replicas: [String] = []
        /// Whether one of them writes.
        public var hasWriter = false
        /// The fault that a replica reports of itself; empty when none does.
        public var problem = ""
        /// What is missing while its replicas serve all the same, as one of them reports; empty when nothing is.
        public var warning = ""
        /// The board on which its writer says what it is about to change, when all that could write next do so on this
        /// host; 0 for none.
        public var board: UInt64 = 0
        /// The names of those that run the edition which a writer named last, sorted; nil where none has named one.
        public var current: [String]?

        /// The problem, or where there is none the warning.
        public var trouble: String { problem.isEmpty ? warning : problem }

        /// A service without replicas.
        public init() {}
    }

    private let thread: SocketThread<Work>
    private let configuration: BusConfiguration
    private let logger: Logger
    private let onForget: @Sendable (Forget) -> Void
    private let leases: [LeasedKnowledge]
    private let onTold: Told
    private let onStates: @Sendable ([String: ServiceState]) -> Void
    private let onBatchEnd: @Sendable () -> Void
    private let states = Mutex<[String: ServiceState]>([:])
    private let endpointLock = Mutex<Int32?>(nil)

    /// - Parameters:
    ///   - onForget: called on the broker's thread before the reply that carried it goes anywhere.
    ///   - leases: what is kept of services, and may be believed under a lease alone where there are several gateways.
    ///   - onTold: called for what another gateway's call changed, and when changes may have been missed.
    ///   - onStates: called on the broker's thread when `services` changed.
    ///   - onBatchEnd: called on the broker's thread after completions that were called one after the other, before it
    ///     waits for anything.
    public init(
        configuration: BusConfiguration, logger: Logger, onForget: @escaping @Sendable (Forget) -> Void = { _ in },
        leases: [LeasedKnowledge] = [], onTold: @escaping Told = { _, _, done in done() },
        onStates: @escaping @Sendable ([String: ServiceState]) -> Void = { _ in },
        onBatchEnd: @escaping @Sendable () -> Void = {}
    ) throws {
        thread = try SocketThread()
        self.configuration = configuration
        self.logger = logger
        self.onForget = onForget
        self.leases = leases
        self.onTold = onTold
        self.onStates = onStates
        self.onBatchEnd = onBatchEnd
    }

    /// Binds the endpoint and starts.
    /// - Parameters:
    ///   - answering: the requests that the gateway answers itself, by kind. They are handed over as they come, in no
    ///     line and with no limit on how many are under way.
    ///   - withoutWindow: the services that get everything at once (`Dispatcher`).
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
                // Without it ROUTER drops what it cannot deliver; with it a dead peer is an error we act on.
                try socket.set(ZMQ_ROUTER_MANDATORY, 1)
                // A service that redials after a break of the network keeps its routing id before we noticed the break.
                try socket.set(ZMQ_ROUTER_HANDOVER, 1)
                return socket
            } open: { [configuration] in
                try $0.bind(configuration.endpoint)
            } makeDriver: { [self] socket in
                BrokerDriver(
                    socket: socket, answering: answering, withoutWindow: withoutWindow, mailbox: thread.mailbox,
                    logger: logger, onForget: onForget, leases: leases, onTold: onTold,
                    onStates: { [self] new in
                        states.withLock { $0 = new }
                        onStates(new)
                    }, onBatchEnd: onBatchEnd)
            } started: {
                once.resume($0)
            } ended: { [self] in
                // Only now that the socket is closed may another broker bind the endpoint.
                endpointLock.withLock { lock in
                    if let descriptor = lock { close(descriptor) }
                    lock = nil
                }
            }
        }
    }

    /// Tells the services to make their calls by other gateways, or by the next one, and waits until those under way
    /// are answered.
    /// - Parameter limit: for calls that take longer.
    public func leave(within limit: Duration) async {
        let end = ContinuousClock.now + limit
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            if !thread.mailbox.post(.leave(until: end) { continuation.resume() }) { continuation.resume() }
        }
    }

    /// Ends the thread; requests under way fail.
    public func stop() { thread.mailbox.post(.stop) }

    /// Sends a request and calls `completion` exactly once: on the broker's thread, or at once when the broker has
    /// stopped.
    /// - Parameter wakes: false when `wake` follows, after all requests that are made in one go.
    public func call(_ request: BusRequest, wakes: Bool = true, completion: @escaping Completion) {
        logger.debug(
            "Asks a service.", metadata: ["bus.kind": "\(request.kind)", "request.id": "\(request.traceId)"])
        let message = BusMessage(envelope: request.envelope, body: request.body, documents: request.documents)
        if !thread.mailbox.post(.request(message, completion), wakes: wakes) {
            completion(.failure(.unavailable("Satchel is stopping.")))
        }
    }

    /// Wakes the broker's thread for requests that were made without.
    public func wake() { thread.mailbox.wakeForWork() }

    /// Sends a request and waits for its answer.
    /// - Throws: `BusFailure`.
    public func call(_ request: BusRequest) async throws(BusFailure) -> BusReply {
        try await request.budgeted { request in
            await withCheckedContinuation { continuation in
                call(request) { continuation.resume(returning: $0) }
            }
        }
    }

    /// Requests that each replica was sent since it joined, by its name such as `catalog-2`: how evenly they share.
    /// Empty while the broker stops.
    public var requestsByReplica: [String: Int] { get async { await counted(Work.countRequests) } }

    /// Requests that wait for a lane now, by service; a service that nobody waits for is not in it. Empty while the
    /// broker stops.
    public var waitingByService: [String: Int] { get async { await counted(Work.countWaiting) } }

    private func counted(_ work: (@escaping @Sendable ([String: Int]) -> Void) -> Work) async -> [String: Int] {
        await withCheckedContinuation { continuation in
            if !thread.mailbox.post(work({ continuation.resume(returning: $0) })) {
                continuation.resume(returning: [:])
            }
        }
    }

    /// The services that are there, by name.
    public var services: [String: ServiceState] { states.withLock { $0 } }
}

/// The way of the gateway's own answer to the lane that asked.
struct BrokerReplyWay: ReplyWay {
    let mailbox: ThreadMailbox<Broker.Work>
    let lane: [UInt8]

    func send(_ message: BusMessage) { mailbox.post(.answer(message, lane: lane)) }
}

/// Resumes a continuation at the first call and ignores later ones.
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
