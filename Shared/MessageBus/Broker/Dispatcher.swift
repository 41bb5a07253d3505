import Messages
import ParseProtocol

/// The gateway's half of the bus, without I/O: decides which replica gets which request, and what happens when a
/// replica dies.
///
/// Each event appends the actions to perform to `actions`; `BrokerDriver` performs them. A lane is one socket of one
/// service process; `Origin` identifies the requester.
package struct Dispatcher<Origin> {
    package typealias LaneID = [UInt8]

    package enum Action {
        case send(LaneID, BusMessage)
        case answer(Origin, BusMessage)
    }

    /// Limit of requests that a lane has at once. It suffices to fill a group commit from one lane. More would queue
    /// inside the service, where they cannot move to another lane.
    package static var windowMax: Int { 128 }
    /// Limit of queued requests per service, a tenth of a second of work at 10,000 requests per second. Requests of a
    /// lane that ended are queued beyond it.
    package static var waitingMax: Int { 1024 }
    /// Limit of queued requests per client: a quarter, so that one client cannot fill the queue.
    package static var waitingPerClientMax: Int { 256 }
    /// Limit of queued requests per near network; its wide network may have three quarters of the queue.
    package static var waitingPerNetworkMax: Int { 384 }
    private static var emptyQueue: FairQueue { FairQueue(perNetwork: waitingPerNetworkMax, total: waitingMax) }
    /// A lane sends a hello every second; after this silence it counts as dead. Longer than a thread has to wait for a
    /// processor on a busy host.
    package static var silenceMax: BusClock.Milliseconds { 6000 }
    /// Longest wait for a lane; longer than a supervisor takes to restart the only replica of a service.
    package static var laneWaitMax: BusClock.Milliseconds { 6000 }
    /// A live process sends a hello each second. So if a lane was silent for this long before it closed, its connection
    /// broke first; if it was silent for this long before it got a request, it hung first. No request is blamed for
    /// either. Shorter than the time after which a connection counts as broken
    /// (`BusConfiguration.unacknowledgedMilliseconds`).
    package static var breakSilence: BusClock.Milliseconds { 2000 }
    /// Processes that may die, and lanes that may become silent, with a request before the request is given up. The
    /// first loss may be chance.
    package static var deathsMax: Int { 2 }

    /// A class, like `Lane`: each event of a request then finds it once and changes it in place.
    private final class Pending {
        var message: BusMessage
        let origin: Origin
        let originCorrelation: UInt64
        /// Deadline for finding a lane, if it is before the request's deadline. It starts again when the request's lane
        /// ends, and while a replica of the service is leaving. A write that was sent once has only its own deadline.
        var laneDeadline: BusClock.Milliseconds
        var lane: Lane?
        var attempts = 0
        /// Number of the send, from 1, across all lanes.
        var sending: UInt64 = 0
        /// Time of the last send.
        var sentAt: BusClock.Milliseconds = 0
        /// Losses for `deathsMax`, and the last process that died, because the lanes of a process end one by one.
        var deaths = 0
        var lastDead: LaneID?

        init(
            message: BusMessage, origin: Origin, originCorrelation: UInt64, laneDeadline: BusClock.Milliseconds
        ) {
            self.message = message
            self.origin = origin
            self.originCorrelation = originCorrelation
            self.laneDeadline = laneDeadline
        }
    }

    /// The reasons why a lane ends.
    private enum Ending {
        /// Its connection closed, or was found broken.
        case closed
        /// It has reconnected: the process is alive.
        case reconnected
        case silent
    }

    package private(set) var lanes: [LaneID: Lane] = [:]
    private(set) var lanesOfService: [Substring: [Lane]] = [:]
    private var pending: [UInt64: Pending] = [:]
    private(set) var waiting: [Substring: FairQueue] = [:]
    /// The edition named by the latest writer of each service. It remains valid while there is no writer.
    private(set) var editions: [Substring: UInt64] = [:]
    /// The services of which a lane with an edition (`Hello.edition`) ended without a goodbye, or lost its edition,
    /// since `takeServicesWithLostWriters`. Its process may have committed a change without sending the invalidation.
    private var servicesWithLostWriters: Set<String> = []
    private var lastSending: UInt64 = 0
    /// Random start: a service may still have replies to requests of an earlier gateway, which must not match.
    private var lastCorrelation = UInt64.random(in: 1..<1 << 62)
    /// Start of the last search for the least loaded lane.
    var turn: UInt = 0
    let withoutWindow: Set<String>

    /// - Parameter withoutWindow: the services that get all requests at once and limit their load themselves. Some of
    ///   their requests wait for other requests; a window full of waiting ones would block those they wait for.
    package init(withoutWindow: Set<String> = []) { self.withoutWindow = withoutWindow }

    // MARK: Lanes

    /// A lane is connected, has a new role, or has reconnected.
    package mutating func hello(_ id: LaneID, _ hello: Hello, now: BusClock.Milliseconds, _ actions: inout [Action]) {
        reconnected(id, hello.connection, now: now, &actions)
        // A lane that names another service leaves its old one: it is removed and added again.
        if let known = lanes[id], known.hello.service != hello.service { gone(id, .closed, now: now, &actions) }
        let lane: Lane
        if let known = lanes[id] {
            lane = known
            // The process lost the database and does not know which of its last commits succeeded.
            if lane.hello.edition != 0, hello.edition == 0 { servicesWithLostWriters.insert(hello.service) }
            lane.hello = hello
            lane.heard(now: now)
        } else {
            lane = Lane(id: id, hello: hello, lastHeard: now)
            lanes[id] = lane
            lanesOfService[hello.service[...], default: []].append(lane)
            markFirstLanes(of: hello.service[...])
        }
        if hello.writer, hello.edition != 0, !lane.isLeaving {
            editions[hello.service[...]] = hello.edition
        }
        dispatchWaiting(hello.service[...], now: now, &actions)
    }

    /// A process stops taking requests and finishes those it has. The first goodbye of one of its lanes counts for all
    /// of them.
    package mutating func goodbye(_ id: LaneID, now: BusClock.Milliseconds) {
        guard let leaving = lanes[id] else { return }
        leaving.heard(now: now)
        for other in lanesOfService[leaving.hello.service[...]] ?? [] where other.process == leaving.process {
            other.isLeaving = true
        }
    }

    /// A lane's connection closed. Its repeatable requests go to another lane, unless `deathsMax` is reached; the
    /// requesters of all others get an unknown outcome.
    package mutating func gone(_ id: LaneID, now: BusClock.Milliseconds, _ actions: inout [Action]) {
        gone(id, .closed, now: now, &actions)
    }

    /// A lane has reconnected: messages in transit on its earlier connection may be lost. There is no other
    /// notification, because a reconnecting socket replaces its old connection at once (`ZMQ_ROUTER_HANDOVER`).
    /// - Parameter connection: the number of the connection that the lane uses now; if unchanged, nothing is lost.
    package mutating func reconnected(
        _ id: LaneID, _ connection: UInt64, now: BusClock.Milliseconds, _ actions: inout [Action]
    ) {
        guard let before = lanes[id]?.hello.connection, before != 0, connection > before else { return }
        gone(id, .reconnected, now: now, &actions)
    }

    /// The request that a silent lane is presumably stuck on: its oldest unfinished read. The dispatcher fails this
    /// read instead of sending it to another lane.
    private func suspect(of lane: Lane) -> UInt64? {
        lane.inFlight.filter { correlation in
            guard let entry = pending[correlation] else { return false }
            return !entry.message.envelope.writes && entry.sending > lane.answered && mayHang(lane, by: entry)
        }.min { pending[$0]?.sending ?? 0 < pending[$1]?.sending ?? 0 }
    }

    /// Whether a silent lane may hang because of one of its requests: not if it was already silent when it got the
    /// request, as when all lanes of a process hang at once.
    private func mayHang(_ lane: Lane, by entry: Pending) -> Bool { entry.sentAt - lane.lastHeard < Self.breakSilence }

    private mutating func gone(_ id: LaneID, _ ending: Ending, now: BusClock.Milliseconds, _ actions: inout [Action]) {
        guard let lane = lanes.removeValue(forKey: id) else { return }
        let service = lane.hello.service[...]
        if lane.hello.edition != 0, !lane.isLeaving { servicesWithLostWriters.insert(lane.hello.service) }
        lanesOfService[service]?.removeAll { $0 === lane }
        if lane.isFirst { markFirstLanes(of: service) }
        let broke = isBreak(ending, of: lane, now: now)
        for other in lanesOfService[service] ?? [] where other.process == lane.process {
            if broke || now - other.lastHeard >= Self.breakSilence { other.isDoubtful = true }
        }
        let culprit = ending == .silent ? suspect(of: lane) : nil
        for correlation in lane.inFlight.sorted().reversed() {
            guard let entry = pending[correlation] else { continue }
            entry.lane = nil
            entry.laneDeadline = now + Self.laneWaitMax
            countDeath(by: ending, of: lane, with: entry, now: now)
            if correlation == culprit {
                finish(correlation, with: .stalled, &actions)
            } else if entry.message.envelope.isRepeatable, entry.deaths < Self.deathsMax {
                waiting[service, default: Self.emptyQueue].prepend(correlation, of: entry.message.client)
            } else {
                finish(correlation, with: .outcomeUnknown, &actions)
            }
        }
        dispatchWaiting(service, now: now, &actions)
    }

    /// Counts the end of a lane against a request that it had, if the request may have caused it.
    private func countDeath(by ending: Ending, of lane: Lane, with entry: Pending, now: BusClock.Milliseconds) {
        switch ending {
        case .silent where mayHang(lane, by: entry): entry.deaths += 1
        case .closed where !isBreak(ending, of: lane, now: now):
            // All lanes of a dead process end, and a request may be sent to several of them: that counts as one death.
            if entry.lastDead != lane.process { entry.deaths += 1 }
            entry.lastDead = lane.process
        case .silent, .closed, .reconnected: break
        }
    }

    /// Whether only the connection ended and the process may be alive.
    private func isBreak(_ ending: Ending, of lane: Lane, now: BusClock.Milliseconds) -> Bool {
        switch ending {
        case .closed: now - lane.lastHeard >= Self.breakSilence
        case .reconnected: true
        case .silent: false
        }
    }

    /// The services with possibly unreported changes of a lost process, since the last call.
    package mutating func takeServicesWithLostWriters() -> Set<String> {
        guard !servicesWithLostWriters.isEmpty else { return [] }
        defer { servicesWithLostWriters = [] }
        return servicesWithLostWriters
    }

    private mutating func markFirstLanes(of service: Substring) {
        var seen: Set<LaneID> = []
        for lane in lanesOfService[service] ?? [] { lane.isFirst = seen.insert(lane.process).inserted }
    }

    /// The edition that receives a service's shared writes; nil if no writer named one.
    package func edition(of service: String) -> UInt64? { editions[service[...]] }

    // MARK: Requests

    /// - Parameter replica: the replica that the request is for, if it is connected; nil for any.
    package mutating func request(
        _ message: consuming BusMessage, from origin: Origin, to replica: String? = nil, now: BusClock.Milliseconds,
        _ actions: inout [Action]
    ) {
        let (deadline, originCorrelation) = (message.envelope.deadline, message.envelope.correlation)
        guard deadline > now else {
            return refuse(message, origin, .timedOut, &actions)
        }
        lastCorrelation += 1
        let correlation = lastCorrelation
        message.envelope.correlation = correlation
        message.envelope.remaining = deadline - now
        let entry = Pending(
            message: message, origin: origin, originCorrelation: originCorrelation,
            laneDeadline: now + Self.laneWaitMax)
        pending[correlation] = entry
        let envelope = entry.message.envelope
        let service = envelope.destination
        if let lane = replica.flatMap({ self.lane(of: service, in: $0) }) ?? chosenLane(of: service, for: envelope) {
            return send(entry, correlation, to: lane, now: now, &actions)
        }
        let client = entry.message.client
        let line = waiting[service]
        if line?.count ?? 0 >= Self.waitingMax {
            finish(correlation, with: .unavailable("\(service) has too much to do; try again."), &actions)
        } else if client.id != 0, let line,
            line.count(of: client) >= Self.waitingPerClientMax || !line.hasRoom(for: client)
        {
            finish(
                correlation,
                with: .tooManyRequests("Too many of your requests are waiting; try again.", retryAfterSeconds: 1),
                &actions)
        } else {
            waiting[service, default: Self.emptyQueue].append(correlation, of: client)
        }
    }

    package mutating func reply(
        _ message: BusMessage, from id: LaneID, now: BusClock.Milliseconds, _ actions: inout [Action]
    ) {
        guard let lane = lanes[id] else { return }
        let correlation = message.envelope.correlation
        lane.heard(now: now)
        lane.inFlight.remove(correlation)
        // Unknown: the deadline passed, or a lane that was given up answered after all.
        guard let entry = pending[correlation], entry.lane === lane,
            entry.message.envelope.kind == message.envelope.kind
        else { return }
        pending[correlation] = nil
        if !entry.message.envelope.writes { lane.answered = max(lane.answered, entry.sending) }
        var answer = message
        // `originCorrelation` is 0 for the gateway's own requests. Setting it would copy the envelope.
        if entry.originCorrelation != 0 { answer.envelope.correlation = entry.originCorrelation }
        actions.append(.answer(entry.origin, answer))
        let service = lane.hello.service[...]
        if !waiting.isEmpty, waiting[service]?.isEmpty == false { dispatchWaiting(service, now: now, &actions) }
    }

    package var hasPending: Bool { !pending.isEmpty }

    /// Whether a request of such an origin is unanswered.
    package func hasPending(from isMeant: (Origin) -> Bool) -> Bool { pending.values.contains { isMeant($0.origin) } }

    /// Ends requests whose deadline has passed, and silent lanes. To be called several times a second.
    package mutating func tick(now: BusClock.Milliseconds, _ actions: inout [Action]) {
        waitForSuccessors(now: now)
        for (correlation, entry) in pending {
            let envelope = entry.message.envelope
            if entry.lane == nil, entry.attempts == 0 || !envelope.writes,
                min(entry.laneDeadline, envelope.deadline) <= now
            {
                finish(
                    correlation, with: .unavailable("\(envelope.destination) is not available; try again."), &actions)
            } else if envelope.deadline <= now {
                finish(correlation, with: .timedOut, &actions)
            }
        }
        let silent = lanes.values.filter { now - $0.lastHeard > Self.silenceMax }.map(\.id)
        for id in silent { gone(id, .silent, now: now, &actions) }
    }

    /// While a replica of a service is leaving, its queued requests wait for the successor: the next writer, or the
    /// restarted process. Their wait for a lane starts when the replica has left.
    private mutating func waitForSuccessors(now: BusClock.Milliseconds) {
        let services = Set(lanes.values.filter(\.isLeaving).map { $0.hello.service[...] })
        guard !services.isEmpty else { return }
        for entry in pending.values where entry.lane == nil {
            if services.contains(entry.message.envelope.destination) { entry.laneDeadline = now + Self.laneWaitMax }
        }
    }

    /// The gateway stops: answers all pending requests.
    /// - Parameter asksElsewhere: whether an origin repeats its requests through another gateway when this one goes
    ///   away. Its repeatable requests get no answer.
    package mutating func abandon(asksElsewhere: (Origin) -> Bool = { _ in false }, _ actions: inout [Action]) {
        for (correlation, entry) in pending.sorted(by: { $0.key < $1.key }) {
            if entry.message.envelope.isRepeatable, asksElsewhere(entry.origin) {
                pending[correlation] = nil
                continue
            }
            let mayBeDone = entry.message.envelope.writes && entry.attempts > 0
            finish(
                correlation,
                with: mayBeDone ? .outcomeUnknown : .unavailable("Satchel is stopping."),
                &actions)
        }
    }

    // MARK: Sending

    private mutating func send(
        _ entry: Pending, _ correlation: UInt64, to lane: Lane, now: BusClock.Milliseconds, _ actions: inout [Action]
    ) {
        entry.lane = lane
        entry.attempts += 1
        lastSending += 1
        entry.sending = lastSending
        entry.sentAt = now
        lane.inFlight.insert(correlation)
        lane.taken += 1
        actions.append(.send(lane.id, entry.message))
    }

    private mutating func dispatchWaiting(
        _ service: Substring, now: BusClock.Milliseconds, _ actions: inout [Action]
    ) {
        guard var line = waiting.removeValue(forKey: service), !line.isEmpty else { return }
        // If a write finds no lane, the other writes are skipped. If a shared write finds none, all writes are skipped,
        // because the writer takes both kinds. If a read finds none, no request does.
        var (takesWrites, takesShared) = (true, true)
        line.takeInOrder { correlation in
            guard let entry = pending[correlation] else { return .taken }
            let envelope = entry.message.envelope
            let (writes, shared) = (envelope.writes, envelope.shared)
            guard !writes || (shared ? takesShared : takesWrites) else { return .kept }
            guard let lane = chosenLane(of: service, for: envelope) else {
                takesWrites = false
                if shared { takesShared = false }
                return writes ? .kept : .stop
            }
            entry.message.envelope.remaining = envelope.deadline - now
            send(entry, correlation, to: lane, now: now, &actions)
            return .taken
        }
        if !line.isEmpty { waiting[service] = line }
    }

    private mutating func finish(_ correlation: UInt64, with failure: BusFailure, _ actions: inout [Action]) {
        guard let entry = pending.removeValue(forKey: correlation) else { return }
        if let lane = entry.lane {
            lane.inFlight.remove(correlation)
        } else {
            waiting[entry.message.envelope.destination]?.remove(correlation)
        }
        var original = entry.message
        original.envelope.correlation = entry.originCorrelation
        refuse(original, entry.origin, failure, &actions)
    }

    private func refuse(_ message: BusMessage, _ origin: Origin, _ failure: BusFailure, _ actions: inout [Action]) {
        actions.append(.answer(origin, BusMessage(envelope: message.envelope.reply(failure.failure))))
    }
}

extension BusMessage {
    /// The client to which the request is attributed.
    fileprivate var client: FairQueue.Client {
        let id = envelope.principal.fairnessKey
        return FairQueue.Client(id: id, network: id == 0 ? nil : ClientNetwork(envelope.principal.network))
    }
}
