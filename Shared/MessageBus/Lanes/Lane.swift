import CZeroMQ
import Logging
import Messages
import ParseProtocol
import Synchronization

/// Delivers a reply to the requester.
protocol ReplyPath: Sendable {
    /// - Parameter batch: see `ServiceRequest.reply`.
    func send(_ message: BusMessage, in batch: ReplyBatch?)
}

/// A request as received by a service.
public struct ServiceRequest: Sendable {
    /// The metadata: kind, sender's rights and deadline.
    public private(set) var envelope: Envelope
    /// The encoded message of the kind.
    public let body: [UInt8]
    /// Parse objects as JSON texts.
    public let documents: [[UInt8]]
    /// The budget sent with the request; without one, a budget that only measures.
    public let budget: RequestBudget
    let way: any ReplyPath
    /// The span of handling it.
    private var span: RunningSpan?

    init(envelope: Envelope, body: [UInt8], documents: [[UInt8]], way: any ReplyPath) {
        self.envelope = envelope
        self.body = body
        self.documents = documents
        self.way = way
        budget = RequestBudget(microseconds: envelope.budget > 0 ? envelope.budget : nil)
    }

    /// A request that no lane received, in a simulation. Its deadline is on this process's clock.
    package init(_ message: BusMessage, answer: @escaping @Sendable (Result<BusReply, BusFailure>) -> Void) {
        self.init(
            envelope: message.envelope, body: message.body, documents: message.documents,
            way: ClosureReplyPath(answer: answer))
    }

    /// The call's name, such as `catalog.find.v1`.
    public var kind: String { envelope.kind }

    /// Its client's request, for logs, and its position in a trace.
    public var trace: RequestTrace {
        RequestTrace(requestId: envelope.traceID, context: TraceContext(envelope.traceParent))
    }

    /// The request with the span of handling it, which ends with the reply; the same one when none is recorded.
    public func traced() -> ServiceRequest {
        guard !envelope.traceParent.isEmpty,
            let span = RunningSpan("handle \(kind)", .server, of: TraceContext(envelope.traceParent))
        else { return self }
        var request = self
        request.span = span
        request.envelope.traceParent = span.context.text
        return request
    }

    /// Sends the reply; must be called exactly once, on any thread.
    /// - Parameters:
    ///   - used: microseconds of processor time for the request, including the work that it caused.
    ///   - batch: the replies that this one may leave with.
    public func reply(_ result: Result<BusReply, BusFailure>, used: Int64 = 0, in batch: ReplyBatch? = nil) {
        span?.end(isError: result.isFault)
        switch result {
        case .success(let reply):
            var envelope = envelope.reply()
            if let forget = reply.forget { envelope.forget = forget }
            envelope.used = used
            way.send(BusMessage(envelope: envelope, body: reply.body, documents: reply.documents), in: batch)
        case .failure(let failure):
            var envelope = envelope.reply(failure.failure)
            envelope.used = used
            way.send(BusMessage(envelope: envelope), in: batch)
        }
    }

    /// Whether the deadline has passed.
    public var isTooLate: Bool { envelope.deadline <= BusClock.now }
}

/// Passes a reply to a closure.
private struct ClosureReplyPath: ReplyPath {
    let answer: @Sendable (Result<BusReply, BusFailure>) -> Void

    func send(_ message: BusMessage, in _: ReplyBatch?) {
        answer(Result { () throws(BusFailure) in try BusReply(message) })
    }
}

/// Handles the requests of one lane. Called only on the lane's thread, so it may own objects confined to one thread,
/// such as a database connection. It must pass slow work to other threads.
public protocol LaneHandler: AnyObject {
    /// Handles a request, which must be answered by `ServiceRequest.reply` exactly once, now or later.
    func handle(_ request: ServiceRequest)
    /// The lane has passed on all requests that it has received.
    func batchEnded()
}

extension LaneHandler {
    /// Does nothing, for a handler that has nothing left then.
    public func batchEnded() {}
}

/// The thread-safe handle of a lane: passes work from other threads to the lane's thread, which `LaneDriver` runs.
/// `GatewayLink` owns the lanes to one gateway.
final class LaneLink: ReplyPath {
    /// The outcome of a call posted to a lane.
    enum CallOutcome: Sendable {
        case answered(Result<BusReply, BusFailure>)
        /// The gateway went away with it.
        case lost
        /// The gateway was already disconnected.
        case unsent
    }

    enum Work: Sendable {
        case send(BusMessage)
        /// The completion is called once.
        case call(BusMessage, @Sendable (CallOutcome) -> Void)
        /// Sends a message that is not a reply.
        case tell(BusMessage)
        case setWriter(Bool, board: UInt64, term: UInt64)
        case setBoard(UInt64)
        case setLeases
        case setProblem(String)
        case setEdition(UInt64)
        case setWarning(String)
        /// The completion is called once: with true when the gateway has confirmed, with false on timeout.
        case leave(until: ContinuousClock.Instant, @Sendable (Bool) -> Void)
        case stop
    }

    let thread: SocketThread<Work>
    /// Holds replies whose invalidations gateways must get first; nil if gateways cache nothing of the service.
    let news: InvalidationSender?
    /// Unanswered requests, and pending calls.
    private let underWay = Atomic<Int>(0)

    init(news: InvalidationSender?) throws {
        self.news = news
        thread = try SocketThread()
    }

    /// Whether there are none.
    var isIdle: Bool { underWay.load(ordering: .relaxed) == 0 }
    fileprivate func set(underWay count: Int) { underWay.store(count, ordering: .relaxed) }

    /// Sends a reply: as part of a batch that is being collected, and only after other gateways got its invalidation.
    func send(_ message: BusMessage, in batch: ReplyBatch?) {
        if message.envelope.hasForget, let news, news.hold(message, self) { return }
        if let batch, batch.add(message, to: self) { return }
        thread.mailbox.post(.send(message))
    }
}

/// One DEALER socket of a service, driven by its own thread: receives requests for the `LaneHandler`, sends replies,
/// calls and heartbeats.
final class LaneDriver: SocketDriver {
    typealias Work = LaneLink.Work

    private struct Call {
        let deadline: BusClock.Milliseconds
        let completion: @Sendable (LaneLink.CallOutcome) -> Void
    }

    let socket: ZeroMQSocket
    private(set) var isRunning = true
    private let link: LaneLink
    private let handler: any LaneHandler
    private let watch: LaneWatch
    /// Nil outside of tests.
    private let faults: LaneFaults?
    private let logger: Logger
    private var hello: Hello
    private var hasConnected = false
    private var isConnected = false
    private var silence = GatewaySilence(now: BusClock.now)
    /// Requests without a reply.
    private var unanswered = 0
    private var isLeaving = false
    /// The number of the last goodbye.
    private var lastGoodbye: UInt64 = 0
    /// The goodbye that the gateway must confirm, the deadline, and the completion.
    private var leaving: (goodbye: UInt64, until: ContinuousClock.Instant, heard: @Sendable (Bool) -> Void)?
    private var lastHello = ContinuousClock.now
    private var calls: [UInt64: Call] = [:]
    private var lastCorrelation: UInt64 = 0

    init(
        socket: ZeroMQSocket, link: LaneLink, handler: any LaneHandler, hello: Hello, watch: LaneWatch,
        faults: LaneFaults?, logger: Logger
    ) {
        self.socket = socket
        self.link = link
        self.handler = handler
        self.hello = hello
        self.watch = watch
        self.faults = faults
        self.logger = logger
        self.hello.connection = 1
        sayHello()
    }

    func perform(_ work: inout [LaneLink.Work]) {
        // As in `BrokerDriver`.
        work.reverse()
        while let item = work.popLast() { perform(item) }
    }

    private func perform(_ work: consuming LaneLink.Work) {
        switch consume work {
        case .send(let message):
            unanswered -= 1
            send(message)
        case .call(let message, let completion): call(consume message, completion)
        case .tell(let message): send(message)
        case .setWriter(let writer, let board, let term):
            hello.writer = writer
            hello.board = board
            hello.term = term
            sayHello()
        case .setBoard(let board):
            hello.board = board
            sayHello()
        case .setLeases:
            hello.leases = true
            sayHello()
        case .setProblem(let problem):
            hello.problem = problem
            sayHello()
        case .setEdition(let edition):
            hello.edition = edition
            sayHello()
        case .setWarning(let warning):
            hello.warning = warning
            sayHello()
        case .leave(let until, let heard):
            isLeaving = true
            endLeaving(heard: false)
            sayHello()
            leaving = (lastGoodbye, until, heard)
        case .stop: isRunning = false
        }
    }

    func received(_ frames: [[UInt8]]) {
        if silence.heard() { connected() }
        let message: BusMessage
        do {
            message = try BusMessage(frames: frames[...])
        } catch {
            return refuse(frames[...], error)
        }
        if let faults, faults.drops(message) || faults.holds(message) { return }
        take(message)
    }

    private func take(_ message: BusMessage) {
        switch message.envelope.form {
        case .request:
            // The requester has timed out; executing the request would only delay others.
            guard message.envelope.deadline > BusClock.now else {
                return send(
                    BusMessage(envelope: message.envelope.reply(BusFailure.timedOut.failure)))
            }
            unanswered += 1
            handler.handle(
                ServiceRequest(envelope: message.envelope, body: message.body, documents: message.documents, way: link)
            )
        case .reply:
            guard let call = calls.removeValue(forKey: message.envelope.correlation) else { return }
            call.completion(.answered(Result { () throws(BusFailure) in try BusReply(message) }))
        case .hello where message.envelope.gateway == 0: silence.promised(every: message.envelope.remaining)
        case .hello: askedForLease(message.envelope)
        case .forget: link.news?.heard(message.envelope.gateway, round: message.envelope.correlation)
        case .goodbye: heardGoodbye(message.envelope.correlation)
        case .unknown, .UNRECOGNIZED: logger.warning("Refused a message.", metadata: ["bus.problem": "envelope"])
        }
    }

    private func askedForLease(_ envelope: Envelope) {
        guard !isLeaving, let lease = link.news?.ask(envelope.gateway, by: link) else { return }
        sayHello(lease, answering: envelope.correlation)
    }

    /// The broker has everything that this lane sent before that goodbye, and this lane has everything that the broker
    /// sent before its answer.
    /// - Parameter number: 0 for a gateway's own goodbye, and in the answers of a gateway of an earlier release, which
    ///   do not name the goodbye.
    private func heardGoodbye(_ number: UInt64) {
        if number == 0 { watch.gatewayLeaves() }
        guard let leaving, number == 0 || number >= leaving.goodbye else { return }
        endLeaving(heard: true)
    }

    private func endLeaving(heard: Bool) {
        leaving?.heard(heard)
        leaving = nil
    }

    private func refuse(_ frames: ArraySlice<[UInt8]>, _ problem: BusMessage.Malformed) {
        logger.warning("Refused a message.", metadata: ["bus.problem": "\(problem)"])
        guard let envelope = BusMessage.readableEnvelope(frames), envelope.form == .request else { return }
        let failure = BusFailure(code: 107, "The message could not be read: \(problem).")
        send(BusMessage(envelope: envelope.reply(failure.failure)))
    }

    private func call(
        _ message: consuming BusMessage, _ completion: @escaping @Sendable (LaneLink.CallOutcome) -> Void
    ) {
        guard isConnected else { return completion(.unsent) }
        lastCorrelation += 1
        message.envelope.correlation = lastCorrelation
        message.envelope.remaining = message.envelope.deadline - BusClock.now
        calls[lastCorrelation] = Call(
            deadline: message.envelope.deadline, completion: completion)
        send(message)
    }

    private func send(_ message: BusMessage) {
        if let faults, faults.drops(message) { return }
        do {
            // Without a high-water mark a DEALER is never full; before the first connection it queues.
            _ = try socket.send(message.frames())
        } catch {
            logger.error(
                "A message could not be sent.", metadata: ["bus.kind": "\(message.envelope.kind)", "error": "\(error)"])
        }
    }

    private func sayHello(_ lease: Lease? = nil, answering question: UInt64 = 0) {
        lastHello = .now
        var envelope = Envelope()
        envelope.version = BusMessage.version
        envelope.form = isLeaving ? .goodbye : .hello
        envelope.correlation = question
        if let lease { envelope.lease = lease }
        if isLeaving {
            lastGoodbye += 1
            envelope.correlation = lastGoodbye
        }
        // A disconnected gateway gets a hello when it reconnects. A message queued until then would belong to the
        // earlier connection.
        guard isConnected || !hasConnected else { return }
        // Encoding a Hello of a few short strings cannot fail.
        send(BusMessage(envelope: envelope, body: (try? hello.serializedBytes()) ?? []))
    }

    func peersChanged(_ changes: [PeerChange]) {
        for change in changes {
            switch change {
            case .connected:
                silence.connected()
                // Messages queued before the first connection are sent on it.
                if hasConnected { hello.connection += 1 }
                hasConnected = true
                connected()
            case .disconnected:
                silence.disconnected()
                disconnected()
            }
        }
    }

    /// The gateway can be asked, for the first time or again. It may have been restarted and know no lane.
    private func connected() {
        isConnected = true
        watch.connected()
        sayHello()
    }

    /// Until it is heard again, a silent gateway counts as disconnected. It may miss invalidations meanwhile: the
    /// number of a new connection makes it discard its cache when it continues. It answers this hello with a probe.
    private func gatewayIsSilent() {
        logger.warning("A gateway is silent; calls go through others until it is heard again.")
        hello.connection += 1
        sayHello()
        disconnected()
    }

    /// The replies to pending calls are lost with the connection.
    private func disconnected() {
        isConnected = false
        watch.disconnected()
        faults?.disconnected()
        let lost = calls.values
        calls = [:]
        for call in lost { call.completion(.lost) }
    }

    var isWaiting: Bool {
        !calls.isEmpty || leaving != nil || link.news?.isWaiting == true || faults?.isHolding == true
    }

    func batchEnded() {
        handler.batchEnded()
        link.set(underWay: unanswered + calls.count)
    }

    func tick() {
        watch.ticked()
        if silence.tick(now: BusClock.now) { gatewayIsSilent() }
        link.news?.tick()
        for message in faults?.due() ?? [] { take(message) }
        if ContinuousClock.now - lastHello >= .seconds(1) { sayHello() }
        if let leaving, leaving.until <= .now { endLeaving(heard: false) }
        let now = BusClock.now
        // The broker normally answers at the deadline; this handles a broker that is gone.
        for (correlation, call) in calls where call.deadline + 500 <= now {
            calls[correlation] = nil
            call.completion(.answered(.failure(.timedOut)))
        }
    }

    func stopped(left: [LaneLink.Work]) {
        endLeaving(heard: false)
        for case .leave(_, let heard) in left { heard(false) }
        watch.disconnected()
        for call in calls.values { call.completion(.lost) }
        for case .call(_, let completion) in left { completion(.unsent) }
        try? socket.set(ZMQ_LINGER, 1000)  // Time for the last replies to leave.
    }
}
