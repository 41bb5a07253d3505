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
    /// Limit of queued requests per service, a tenth of a second of work at 10,000 requests per second.
    package static var waitingMax: Int { 1024 }
    /// Limit of queued requests per client: a quarter, so that one client cannot fill the queue.
    package static var waitingPerClientMax: Int { 256 }
    /// Limit of queued requests per near network; its wide network may have three quarters of the queue.
    package static var waitingPerNetworkMax: Int { 384 }
    private static var line: FairQueue { FairQueue(perNetwork: waitingPerNetworkMax, total: waitingMax) }
    /// A lane sends a hello every second; after this silence it counts as dead. Longer than a thread has to wait for a
    /// processor on a busy host.
    package static var silenceMax: BusClock.Milliseconds { 6000 }
    /// Longest wait for a lane; longer than a supervisor takes to restart the only replica of a service.
    package static var laneWaitMax: BusClock.Milliseconds { 6000 }
    /// A lane that closes after this silence did not die, because a live process would have sent a hello: its
    /// connection broke, for which no request is to blame. Shorter than the time after which a connection counts as
    /// broken (`BusConfiguration.unacknowledgedMilliseconds`).
    package static var breakSilence: BusClock.Milliseconds { 2000 }
    /// Replicas that may die or become silent with a request before the request is given up. One may be chance; after
    /// two the request is blamed.
    package static var deathsMax: Int { 2 }

    /// A class, like `Lane`: each event of a request then finds it once and changes it in place.
    private final class Pending {
        var message: BusMessage
        let origin: Origin
        let originCorrelation: UInt64
        /// Deadline for finding a lane, independent of the request's deadline. Reset when its lane ends.
        var laneDeadline: BusClock.Milliseconds
        var lane: Lane?
        var attempts = 0
        /// Number of the send, from 1, across all lanes.
        var sending: UInt64 = 0
        /// Processes that died with the request, and the last of them, because the lanes of a process end one by one.
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
        /// It is silent; `suspect` is the request that it was working on, if any.
        case silent(suspect: UInt64?)
    }

    package private(set) var lanes: [LaneID: Lane] = [:]
    private(set) var lanesOfService: [Substring: [Lane]] = [:]
    private var pending: [UInt64: Pending] = [:]
    private(set) var waiting: [Substring: FairQueue] = [:]
    /// The edition named by the latest writer of each service. It remains valid while there is no writer.
    private(set) var editions: [Substring: UInt64] = [:]
    /// The services that lost a non-leading writer process (`Hello.edition`) since the last call of
    /// `takeServicesWithLostWriters`. That process may have committed a change without sending its invalidation.
    private var servicesWithLostWriters: Set<String> = []
    private var lastSending: UInt64 = 0
    /// Random start: a service may still have replies to requests of an earlier gateway, which must not match.
    private var lastCorrelation = UInt64.random(in: 1..<1 << 62)
    /// Start of the last search for the least loaded lane.
    var turn: UInt = 0
    let withoutWindow: Set<String>

    /// - Parameter withoutWindow: the services that get all requests at once, because some of their requests wait for
    ///   others: a window full of the former would block the latter. These services limit their load themselves.
    package init(withoutWindow: Set<String> = []) { self.withoutWindow = withoutWindow }

    // MARK: Lanes

    /// A lane is connected, has a new role, or has reconnected.
    package mutating func hello(_ id: LaneID, _ hello: Hello, now: BusClock.Milliseconds, _ actions: inout [Action]) {
        reconnected(id, hello.connection, now: now, &actions)
        // A lane keeps its service.
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
            lead(of: hello.service[...])
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

    /// A lane died. Its requests go to another lane if they are repeatable; otherwise the requester gets an unknown
    /// outcome.
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

    /// The request that a silent lane is presumably stuck on: its oldest unfinished read, which is never sent again.
    private func suspect(of lane: Lane) -> UInt64? {
        lane.inFlight.filter { correlation in
            pending[correlation].map { !$0.message.envelope.writes && $0.sending > lane.answered } ?? false
        }.min { pending[$0]?.sending ?? 0 < pending[$1]?.sending ?? 0 }
    }

    private mutating func gone(
        _ id: LaneID, _ ending: Ending, now: BusClock.Milliseconds, _ actions: inout [Action]
    ) {
        guard let lane = lanes.removeValue(forKey: id) else { return }
        let service = lane.hello.service[...]
        if lane.hello.edition != 0, !lane.isLeaving { servicesWithLostWriters.insert(lane.hello.service) }
        lanesOfService[service]?.removeAll { $0 === lane }
        if lane.leads { lead(of: service) }
        if isBreak(ending, of: lane, now: now) {
            for other in lanesOfService[service] ?? [] where other.process == lane.process {
                other.isDoubtful = true
            }
        }
        for correlation in lane.inFlight.sorted().reversed() {
            guard let entry = pending[correlation] else { continue }
            entry.lane = nil
            entry.laneDeadline = now + Self.laneWaitMax
            if count(ending, of: lane, against: entry, correlation, now: now) {
                finish(correlation, with: .stalled, &actions)
            } else if entry.message.envelope.isRepeatable, entry.deaths < Self.deathsMax {
                waiting[service, default: Self.line].prepend(correlation, of: entry.message.client)
            } else {
                finish(correlation, with: .outcomeUnknown, &actions)
            }
        }
        dispatchWaiting(service, now: now, &actions)
    }

    /// Records the end of a lane in a request that it had; true when the lane was stuck on that request.
    private func count(
        _ ending: Ending, of lane: Lane, against entry: Pending, _ correlation: UInt64, now: BusClock.Milliseconds
    ) -> Bool {
        switch ending {
        case .silent(let suspect):
            entry.deaths += 1
            entry.lastDead = nil
            return correlation == suspect
        case .closed where !isBreak(ending, of: lane, now: now):
            // All lanes of a dead process end, and a request may be sent to several of them: that counts as one death.
            if entry.lastDead != lane.process { entry.deaths += 1 }
            entry.lastDead = lane.process
            return false
        case .closed, .reconnected:
            return false
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

    /// The services that lost a process with possibly unreported changes, since the last call.
    package mutating func takeServicesWithLostWriters() -> Set<String> {
        guard !servicesWithLostWriters.isEmpty else { return [] }
        defer { servicesWithLostWriters = [] }
        return servicesWithLostWriters
    }

    /// Marks the first lane of each process of a service as the leading one.
    private mutating func lead(of service: Substring) {
        var seen: Set<LaneID> = []
        for lane in lanesOfService[service] ?? [] { lane.leads = seen.insert(lane.process).inserted }
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
            return send(entry, correlation, to: lane, &actions)
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
            waiting[service, default: Self.line].append(correlation, of: client)
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
        // Zero for the gateway's own requests, which need no correlation; setting it would copy the envelope.
        if entry.originCorrelation != 0 { answer.envelope.correlation = entry.originCorrelation }
        actions.append(.answer(entry.origin, answer))
        let service = lane.hello.service[...]
        if !waiting.isEmpty, waiting[service]?.isEmpty == false { dispatchWaiting(service, now: now, &actions) }
    }

    /// Whether a request is unanswered.
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
        // Each suspect is determined before the requests of the other silent lanes move.
        let silent = lanes.values.filter { now - $0.lastHeard > Self.silenceMax }.map { ($0.id, suspect(of: $0)) }
        for (id, suspect) in silent { gone(id, .silent(suspect: suspect), now: now, &actions) }
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

    private mutating func send(_ entry: Pending, _ correlation: UInt64, to lane: Lane, _ actions: inout [Action]) {
        entry.lane = lane
        entry.attempts += 1
        lastSending += 1
        entry.sending = lastSending
        lane.inFlight.insert(correlation)
        lane.taken += 1
        actions.append(.send(lane.id, entry.message))
    }

    private mutating func dispatchWaiting(
        _ service: Substring, now: BusClock.Milliseconds, _ actions: inout [Action]
    ) {
        guard var line = waiting.removeValue(forKey: service), !line.isEmpty else { return }
        // If one write finds no lane, neither do the next ones; and if no lane takes a read, none takes a write. The
        // writer also takes shared writes, so if no lane takes those, none takes a write.
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
            send(entry, correlation, to: lane, &actions)
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
