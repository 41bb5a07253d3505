import CZeroMQ
import Logging
import Messages

/// Performs what `Dispatcher` decides on the ROUTER socket.
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
    private let onTold: Broker.Told
    private var leases: LeaseKeeper
    private let onStates: @Sendable ([String: Broker.ServiceState]) -> Void
    private let onBatchEnd: @Sendable () -> Void
    /// A completion was called since the end of the last batch.
    private var hasCompleted = false
    /// Requests of services that the gateway itself has not answered yet.
    private var unanswered = 0
    /// The end of the wait for services' calls, and whom to tell.
    private var leaving: (until: ContinuousClock.Instant, left: @Sendable () -> Void)?
    /// Sweeps still to do: a peer's pipe may live a little longer than the event that says it is gone.
    private var sweepsLeft = 0

    init(
        socket: ZeroMQSocket, answering: [String: Broker.Answerer], withoutWindow: Set<String>,
        mailbox: ThreadMailbox<Broker.Work>, logger: Logger, onForget: @escaping @Sendable (Forget) -> Void,
        leases: [LeasedKnowledge], onTold: @escaping Broker.Told,
        onStates: @escaping @Sendable ([String: Broker.ServiceState]) -> Void,
        onBatchEnd: @escaping @Sendable () -> Void
    ) {
        self.socket = socket
        self.answering = answering
        dispatcher = Dispatcher(withoutWindow: withoutWindow)
        self.mailbox = mailbox
        self.logger = logger
        self.onForget = onForget
        self.onTold = onTold
        self.leases = LeaseKeeper(leases) { onTold($0, $1) {} }
        self.onStates = onStates
        self.onBatchEnd = onBatchEnd
    }

    func perform(_ work: Broker.Work) {
        switch work {
        case .stop: stop()
        case .countRequests(let completion): completion(dispatcher.requestsByReplica)
        case .countWaiting(let completion): completion(dispatcher.waitingByService)
        case .leave(let until, let left):
            leaving = (until, left)
            sayGoodbye()
        case .answer(let message, let lane):
            unanswered -= 1
            sendReply(message, to: lane)
            act()
        case .forgot(let round, let lane):
            sendReply(leases.answer(toRound: round), to: lane)
            act()
        case .request(let message, let completion):
            dispatcher.request(message, from: .gateway(completion), now: BusClock.now, &actions)
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
                    way: BrokerReplyWay(mailbox: mailbox, lane: lane)))
        case .reply:
            // Also when nobody waits for the answer any more: what was revoked is revoked.
            if message.envelope.hasForget { onForget(message.envelope.forget) }
            dispatcher.reply(message, from: lane, now: BusClock.now, &actions)
        case .hello:
            guard let hello = try? Hello(serializedBytes: message.body), !hello.service.isEmpty else {
                return refuse(content, from: lane, .envelope)
            }
            let isNew = dispatcher.lanes[lane]?.hello != hello
            dispatcher.hello(lane, hello, now: BusClock.now, &actions)
            if isNew { publishStates() }
            if leases.hello(hello, message.envelope, from: lane, now: LeaseTerms.now) { askForLeases() }
        case .forget:
            let round = message.envelope.correlation
            onTold(message.envelope.forget, false) { [mailbox] in mailbox.post(.forgot(round: round, lane: lane)) }
        case .goodbye:
            let connection = (try? Hello(serializedBytes: message.body))?.connection ?? 0
            dispatcher.reconnected(lane, connection, now: BusClock.now, &actions)
            dispatcher.goodbye(lane, now: BusClock.now)
            publishStates()
            // Said after the last request that the lane gets, so that it knows when it has them all, and after the
            // answers that came before the goodbye were taken.
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

    /// Frames that are no message get an error reply, so that a peer of another version does not wait for nothing.
    private func refuse(_ frames: ArraySlice<[UInt8]>, from lane: [UInt8], _ problem: BusMessage.Malformed) {
        logger.warning("Refused a message.", metadata: ["bus.lane": "\(name(of: lane))", "bus.problem": "\(problem)"])
        let envelope = BusMessage.readableEnvelope(frames) ?? Envelope()
        let failure = BusFailure(code: 107, "The message could not be read: \(problem).")
        if envelope.form == .reply {
            // Not answered, or two confused peers would answer each other for ever; but its request ends here.
            dispatcher.reply(
                BusMessage(envelope: envelope.reply(failure.failure)), from: lane, now: BusClock.now, &actions)
            return act()
        }
        sendReply(BusMessage(envelope: envelope.reply(failure.failure)), to: lane)
    }

    private func act() {
        leases.lost(dispatcher.takeBereaved())
        // Answering can make new actions (a lane found dead), so this runs until none is left.
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
            let frames = try [lane] + message.frames
            return try socket.send(frames) == .sent
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
        sweepsLeft = 5
        sweep()
    }

    /// Finds lanes that are gone: sending to one fails at once (`ZMQ_ROUTER_MANDATORY`). Lanes ignore the message
    /// itself.
    private func sweep() {
        var envelope = Envelope()
        envelope.version = BusMessage.version
        envelope.form = .hello
        for lane in dispatcher.lanes.keys where !send(BusMessage(envelope: envelope), to: lane) { lost(lane) }
        act()
    }

    /// Lanes make no more calls by this gateway then.
    private func sayGoodbye() {
        var envelope = Envelope()
        envelope.version = BusMessage.version
        envelope.form = .goodbye
        for lane in dispatcher.lanes.keys { sendReply(BusMessage(envelope: envelope), to: lane) }
        act()
    }

    private func endLeaving() {
        leaving?.left()
        leaving = nil
    }

    private static func isLane(_ origin: Origin) -> Bool { if case .lane = origin { true } else { false } }

    var isWaiting: Bool { dispatcher.hasPending || sweepsLeft > 0 || leaving != nil }

    func tick() {
        if let leaving, leaving.until <= .now || unanswered == 0 && !dispatcher.hasPending(from: Self.isLane) {
            endLeaving()
        }
        let lanesBefore = dispatcher.lanes.count
        dispatcher.tick(now: BusClock.now, &actions)
        if dispatcher.lanes.count != lanesBefore { publishStates() }
        askForLeases()
        act()
        if sweepsLeft > 0 {
            sweepsLeft -= 1
            sweep()
        }
    }

    private func askForLeases() {
        for (lane, message) in leases.questions(now: LeaseTerms.now) where dispatcher.lanes[lane] != nil {
            sendReply(message, to: lane)
        }
    }

    /// Whoever stops believes nothing any more: then no change waits for it.
    private func stop() {
        let farewells = leases.farewells
        for (lane, message) in farewells { _ = send(message, to: lane) }
        if !farewells.isEmpty { try? socket.set(ZMQ_LINGER, 300) }
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
            case .request(_, let completion): completion(.failure(.unavailable("Satchel is stopping.")))
            case .countRequests(let completion), .countWaiting(let completion): completion([:])
            case .leave(_, let heard): heard()
            case .stop, .answer, .forgot: break
            }
        }
        dispatcher.abandon(asksElsewhere: Self.isLane, &actions)
        act()
    }

    private func publishStates() {
        var states: [String: Broker.ServiceState] = [:]
        for lane in dispatcher.lanes.values where !lane.isLeaving {
            var state = states[lane.hello.service, default: .init()]
            if !state.replicas.contains(lane.hello.replica) { state.replicas.append(lane.hello.replica) }
            state.replicas.sort()
            if lane.hello.writer { state.hasWriter = true }
            if !lane.hello.problem.isEmpty { state.problem = lane.hello.problem }
            if !lane.hello.warning.isEmpty { state.warning = lane.hello.warning }
            if lane.hello.writer { state.board = lane.hello.board }
            if let edition = dispatcher.edition(of: lane.hello.service) {
                var current = Set(state.current ?? [])
                if lane.hello.edition == edition { current.insert(lane.hello.replica) }
                state.current = current.sorted()
            }
            states[lane.hello.service] = state
        }
        // One that keeps no board, or keeps it elsewhere, may be the next to write before anybody hears of it.
        for lane in dispatcher.lanes.values where lane.hello.clock != BusClock.name {
            states[lane.hello.service]?.board = 0
        }
        onStates(states)
    }

    private func name(of lane: [UInt8]) -> String {
        dispatcher.lanes[lane]?.hello.replica ?? String(decoding: lane.prefix(64), as: UTF8.self).filter(\.isASCII)
    }
}
