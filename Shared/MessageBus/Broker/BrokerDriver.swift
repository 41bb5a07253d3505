import CZeroMQ
import Logging
import Messages

/// Performs the actions of `Dispatcher` on the ROUTER socket.
final class BrokerDriver: SocketDriver {
    enum Origin {
        case gateway(Broker.Completion)
        case lane([UInt8])
    }

    typealias Work = Broker.Work
    let socket: ZeroMQSocket
    private(set) var isRunning = true
    private var dispatcher: Dispatcher<Origin>
    private var actions: [Dispatcher<Origin>.Action] = []
    private let answering: [String: Broker.Answerer]
    private let mailbox: ThreadMailbox<Broker.Work>
    private let logger: Logger
    private let onForget: @Sendable (Forget) -> Void
    private let onInvalidation: Broker.InvalidationHandler
    private var leases: LeaseRequests
    private let onStates: @Sendable ([String: Broker.ServiceState]) -> Void
    private let onBatchEnd: @Sendable () -> Void
    /// A completion was called since the end of the last batch.
    private var hasCompleted = false
    /// Requests from services that the gateway itself has yet to answer.
    private var unanswered = 0
    /// The deadline for services' running calls, and the completion of `leave`.
    private var leaving: (until: ContinuousClock.Instant, completion: @Sendable () -> Void)?
    /// Probes to send without their interval: ZeroMQ may still accept messages for a peer shortly after it reports the
    /// disconnection.
    private var probesLeft = 0
    private var lastProbe: BusClock.Milliseconds = 0

    init(
        socket: ZeroMQSocket, answering: [String: Broker.Answerer], withoutWindow: Set<String>,
        mailbox: ThreadMailbox<Broker.Work>, logger: Logger, onForget: @escaping @Sendable (Forget) -> Void,
        leases: [LeasedCache], onInvalidation: @escaping Broker.InvalidationHandler,
        onStates: @escaping @Sendable ([String: Broker.ServiceState]) -> Void,
        onBatchEnd: @escaping @Sendable () -> Void
    ) {
        self.socket = socket
        self.answering = answering
        dispatcher = Dispatcher(withoutWindow: withoutWindow)
        self.mailbox = mailbox
        self.logger = logger
        self.onForget = onForget
        self.onInvalidation = onInvalidation
        self.leases = LeaseRequests(leases) { onInvalidation($0, $1) {} }
        self.onStates = onStates
        self.onBatchEnd = onBatchEnd
    }

    func perform(_ work: inout [Broker.Work]) {
        // Each item is removed from the list before it is performed. Otherwise the list would hold a second reference,
        // and changing the envelope would copy it.
        work.reverse()
        while let item = work.popLast() { perform(item) }
    }

    private func perform(_ work: consuming Broker.Work) {
        switch consume work {
        case .stop: stop()
        case .countRequests(let completion): completion(dispatcher.requestsByReplica)
        case .countWaiting(let completion): completion(dispatcher.waitingByService)
        case .countLanes(let completion): completion(dispatcher.lanesByService)
        case .countUnanswered(let completion): completion(dispatcher.unansweredByService)
        case .leave(let until, let completion):
            endLeaving()
            leaving = (until, completion)
            sayGoodbye()
        case .answer(let message, let lane):
            unanswered -= 1
            sendReply(message, to: lane)
            act()
        case .forgot(let round, let lane):
            sendReply(leases.answer(toRound: round), to: lane)
            act()
        case .request(let message, let replica, let completion):
            dispatcher.request(
                consume message, from: .gateway(completion), to: replica, now: BusClock.now, &actions)
            act()
        }
    }

    func received(_ frames: [[UInt8]]) {
        guard let lane = frames.first else { return }
        let content = frames.dropFirst()
        let message: BusMessage
        do {
            message = try BusMessage(frames: content)
        } catch {
            return refuse(content, from: lane, error)
        }
        switch message.envelope.form {
        case .request:
            guard let answerer = answering[message.envelope.kind] else {
                dispatcher.request(message, from: .lane(lane), now: BusClock.now, &actions)
                break
            }
            unanswered += 1
            answerer(
                ServiceRequest(
                    envelope: message.envelope, body: message.body, documents: message.documents,
                    way: BrokerReplyPath(mailbox: mailbox, lane: lane)))
        case .reply:
            // Applied even if the request has timed out: a revocation always takes effect.
            if message.envelope.hasForget { onForget(message.envelope.forget) }
            dispatcher.reply(message, from: lane, now: BusClock.now, &actions)
        case .hello:
            guard let hello = try? Hello(serializedBytes: message.body), !hello.service.isEmpty else {
                return refuse(content, from: lane, .envelope)
            }
            let known = dispatcher.lanes[lane]?.hello
            dispatcher.hello(lane, hello, now: BusClock.now, &actions)
            if known != hello { publishStates() }
            if known?.connection != hello.connection { probe(lane) }
            if leases.hello(hello, message.envelope, from: lane, now: LeaseTerms.now) { askForLeases() }
        case .forget:
            let round = message.envelope.correlation
            onInvalidation(message.envelope.forget, false) { [mailbox] in
                mailbox.post(.forgot(round: round, lane: lane))
            }
        case .goodbye:
            let connection = (try? Hello(serializedBytes: message.body))?.connection ?? 0
            dispatcher.reconnected(lane, connection, now: BusClock.now, &actions)
            dispatcher.goodbye(lane, now: BusClock.now)
            publishStates()
            // The answer leaves after the lane's last request, so the lane then has all of them. All replies that the
            // lane sent before its goodbye are processed by now.
            var answer = Envelope()
            answer.version = BusMessage.version
            answer.form = .goodbye
            answer.correlation = message.envelope.correlation
            sendReply(BusMessage(envelope: answer), to: lane)
        case .unknown, .UNRECOGNIZED:
            return refuse(content, from: lane, .envelope)
        }
        act()
    }

    /// Answers malformed frames with an error reply, so that a peer of another version does not wait for its timeout.
    private func refuse(_ frames: ArraySlice<[UInt8]>, from lane: [UInt8], _ problem: BusMessage.Malformed) {
        logger.warning("Refused a message.", metadata: ["bus.lane": "\(name(of: lane))", "bus.problem": "\(problem)"])
        let envelope = BusMessage.readableEnvelope(frames) ?? Envelope()
        let failure = BusFailure(code: 107, "The message could not be read: \(problem).")
        if envelope.form == .reply {
            // A malformed reply gets no error reply, because two faulty peers would answer each other forever. Its
            // request fails.
            dispatcher.reply(
                BusMessage(envelope: envelope.reply(failure.failure)), from: lane, now: BusClock.now, &actions)
            return act()
        }
        sendReply(BusMessage(envelope: envelope.reply(failure.failure)), to: lane)
    }

    private func act() {
        leases.invalidateAfterLoss(of: dispatcher.takeServicesWithLostWriters())
        // An action can cause more actions, such as finding a dead lane.
        while !actions.isEmpty {
            var current: [Dispatcher<Origin>.Action] = []
            swap(&current, &actions)
            for action in current { act(on: action) }
            if actions.isEmpty {
                current.removeAll(keepingCapacity: true)
                actions = current
            }
        }
    }

    private func act(on action: Dispatcher<Origin>.Action) {
        switch action {
        case .send(let lane, let message):
            guard send(message, to: lane) else { return lost(lane) }
        case .answer(let origin, let message):
            switch origin {
            case .gateway(let completion):
                hasCompleted = true
                completion(Result { () throws(BusFailure) in try BusReply(message) })
            case .lane(let lane):
                sendReply(message, to: lane)
            }
        }
    }

    private func sendReply(_ message: BusMessage, to lane: [UInt8]) {
        if !send(message, to: lane), dispatcher.lanes[lane] != nil { lost(lane) }
    }

    /// False when the peer is gone.
    private func send(_ message: BusMessage, to lane: [UInt8]) -> Bool {
        do {
            return try socket.send(message.frames(to: lane)) == .sent
        } catch {
            logger.error(
                "A message could not be sent.", metadata: ["bus.lane": "\(name(of: lane))", "error": "\(error)"])
            return false
        }
    }

    private func lost(_ lane: [UInt8]) {
        logger.warning("A lane is gone.", metadata: ["bus.lane": "\(name(of: lane))"])
        dispatcher.gone(lane, now: BusClock.now, &actions)
        publishStates()
    }

    func peersChanged(_ changes: [PeerChange]) {
        probesLeft = 5
        probeLanes()
    }

    /// Detects dead lanes, because sending to one fails at once (`ZMQ_ROUTER_MANDATORY`). Lanes detect by it that this
    /// process is alive.
    private func probeLanes() {
        lastProbe = BusClock.now
        for lane in dispatcher.lanes.keys { probe(lane) }
        act()
    }

    private func probe(_ lane: [UInt8]) {
        var envelope = Envelope()
        envelope.version = BusMessage.version
        envelope.form = .hello
        envelope.remaining = Self.probeInterval
        sendReply(BusMessage(envelope: envelope), to: lane)
    }

    /// Interval between two probes of a lane, which leave at the next tick. The bytes that they and the lanes' hellos
    /// cause let both kernels detect a lost host (`BusConfiguration.unacknowledgedMilliseconds`).
    private static let probeInterval: BusClock.Milliseconds = 1000

    /// Asks lanes to send no more calls through this gateway.
    private func sayGoodbye() {
        var envelope = Envelope()
        envelope.version = BusMessage.version
        envelope.form = .goodbye
        for lane in dispatcher.lanes.keys { sendReply(BusMessage(envelope: envelope), to: lane) }
        act()
    }

    private func endLeaving() {
        leaving?.completion()
        leaving = nil
    }

    private static func isLane(_ origin: Origin) -> Bool { if case .lane = origin { true } else { false } }

    var isWaiting: Bool { dispatcher.hasPending || probesLeft > 0 || leaving != nil }

    func tick() {
        if let leaving, leaving.until <= .now || unanswered == 0 && !dispatcher.hasPending(from: Self.isLane) {
            endLeaving()
        }
        let lanesBefore = dispatcher.lanes.count
        dispatcher.tick(now: BusClock.now, &actions)
        if dispatcher.lanes.count != lanesBefore { publishStates() }
        askForLeases()
        act()
        if probesLeft > 0 || BusClock.now - lastProbe >= Self.probeInterval {
            probesLeft = max(0, probesLeft - 1)
            probeLanes()
        }
    }

    private func askForLeases() {
        for (lane, message) in leases.dueRequests(now: LeaseTerms.now) where dispatcher.lanes[lane] != nil {
            sendReply(message, to: lane)
        }
    }

    /// A stopping gateway gives up its leases, so that no change waits for it.
    private func stop() {
        let leaseReleases = leases.leaseReleases
        for (lane, message) in leaseReleases { _ = send(message, to: lane) }
        if !leaseReleases.isEmpty { try? socket.set(ZMQ_LINGER, 300) }
        isRunning = false
    }

    func batchEnded() {
        guard hasCompleted else { return }
        hasCompleted = false
        onBatchEnd()
    }

    func stopped(left: [Broker.Work]) {
        hasCompleted = true
        endLeaving()
        for work in left {
            switch work {
            case .request(_, _, let completion): completion(.failure(.unavailable("Satchel is stopping.")))
            case .countRequests(let completion), .countWaiting(let completion), .countLanes(let completion),
                .countUnanswered(let completion):
                completion([:])
            case .leave(_, let completion): completion()
            case .stop, .answer, .forgot: break
            }
        }
        dispatcher.abandon(asksElsewhere: Self.isLane, &actions)
        act()
    }

    private func publishStates() {
        var states: [String: Broker.ServiceState] = [:]
        let hellos = dispatcher.lanes.values.lazy.filter { !$0.isLeaving }.map(\.hello)
        let troubled = Set(hellos.filter { !$0.problem.isEmpty }.map(\.replica))
        // If a process of the service writes without a problem, problems of its other processes are only warnings.
        let working = Set(hellos.filter { $0.writer && !troubled.contains($0.replica) }.map(\.service))
        for lane in dispatcher.lanes.values where !lane.isLeaving {
            let isWorking = working.contains(lane.hello.service)
            var state = states[lane.hello.service, default: .init()]
            if !state.replicas.contains(lane.hello.replica) { state.replicas.append(lane.hello.replica) }
            state.replicas.sort()
            if lane.hello.writer { state.hasWriter = true }
            if !lane.hello.warning.isEmpty { state.warning = lane.hello.warning }
            if !lane.hello.problem.isEmpty {
                if isWorking { state.warning = lane.hello.problem } else { state.problem = lane.hello.problem }
            }
            if lane.hello.writer { state.board = lane.hello.board }
            if let edition = dispatcher.edition(of: lane.hello.service) {
                var current = Set(state.current ?? [])
                if lane.hello.edition == edition { current.insert(lane.hello.replica) }
                state.current = current.sorted()
            }
            states[lane.hello.service] = state
        }
        // A process without a board has clock 0, one on another host another clock. Either could become the writer
        // before the gateway learns of it.
        for lane in dispatcher.lanes.values where lane.hello.clock != BusClock.name {
            states[lane.hello.service]?.board = 0
        }
        onStates(states)
    }

    private func name(of lane: [UInt8]) -> String {
        dispatcher.lanes[lane]?.hello.replica ?? String(decoding: lane.prefix(64), as: UTF8.self).filter(\.isASCII)
    }
}
