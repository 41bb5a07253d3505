import Messages

/// Decides which replica gets which request, and what happens when one dies: the gateway's half of the bus, without
/// I/O.
///
/// Each event appends what must be done to `actions`. A lane is one socket of one service process; `Origin` is whoever
/// waits for the answer.
package struct Dispatcher<Origin> {
    package typealias LaneID = [UInt8]

    package enum Action {
        case send(LaneID, BusMessage)
        case answer(Origin, BusMessage)
    }

    /// Requests one lane may have at once. Enough to fill a group commit from one lane; more would only wait in the
    /// service where it cannot be given to another lane.
    package static var windowMax: Int { 128 }
    /// Requests that may wait for a lane of one service. At 10,000 requests a second this is a tenth of a second of
    /// work.
    package static var waitingMax: Int { 1024 }
    /// Waiting requests that may be one client's. A quarter, so that it takes several to keep others out.
    package static var waitingPerClientMax: Int { 256 }
    /// A lane says hello every second; after this silence it counts as dead. Longer than a busy host lets a thread
    /// wait.
    package static var silenceMax: BusClock.Milliseconds { 6000 }
    /// The longest that a request waits for a lane: longer than a supervisor takes to restart a service that has one
    /// replica.
    package static var laneWaitMax: BusClock.Milliseconds { 6000 }
    /// A lane that ends after this silence did not die: it would have said hello. Its connection broke, which is
    /// nobody's doing. Shorter than what is waited for before a connection counts as broken
    /// (`BusConfiguration.unacknowledgedMilliseconds`).
    package static var breakSilence: BusClock.Milliseconds { 2000 }
    /// Replicas that may die or fall silent with a request before it is given up: one can be chance, two are its doing.
    package static var deathsMax: Int { 2 }

    package struct Lane {
        let id: LaneID
        var hello: Hello
        var lastHeard: BusClock.Milliseconds
        var isLeaving = false
        /// Whether it has the writes of its process.
        var leads = false
        /// Another connection of its process broke since it was heard: this one gets nothing that others can have.
        var isDoubtful = false
        var inFlight: Set<UInt64> = []
        /// Requests that it was sent so far.
        var taken = 0
        /// The latest of this lane's requests that was answered, as `Pending.sending`: the lane is past everything sent
        /// before it.
        var answered: UInt64 = 0
        /// The process: its lanes have routing ids that differ in what follows the last hyphen (`BusEndpoint`).
        var process: LaneID { id.lastIndex(of: UInt8(ascii: "-")).map { Array(id[..<$0]) } ?? id }
    }

    private struct Pending {
        var message: BusMessage
        let origin: Origin
        let originCorrelation: UInt64
        /// Nobody waits longer than this for a lane to appear, whatever the deadline. Counted anew when its lane ends.
        var laneDeadline: BusClock.Milliseconds
        var lane: LaneID?
        var attempts = 0
        /// Number of the sending, from 1, over all lanes.
        var sending: UInt64 = 0
        /// Processes that died while they had it, and the last of them: its lanes end one by one.
        var deaths = 0
        var lastDead: LaneID?
    }

    /// The ways in which a lane ends.
    private enum Ending {
        /// Its connection closed, or was found broken.
        case closed
        /// It has another connection already: the process lives.
        case reconnected
        /// It says nothing any more, and was working on the request if there is one.
        case silent(suspect: UInt64?)
    }

    package private(set) var lanes: [LaneID: Lane] = [:]
    private(set) var lanesOfService: [Substring: [LaneID]] = [:]
    private var pending: [UInt64: Pending] = [:]
    private var waiting: [Substring: WaitingLine] = [:]
    /// The edition that a writer of each service named last. It holds while there is no writer.
    private(set) var editions: [Substring: UInt64] = [:]
    /// The services of which a process was lost that may have made a change and told nobody, beside the one that leads
    /// there (`Hello.edition`), since `takeBereaved` was asked last.
    private var bereaved: Set<String> = []
    private var lastSending: UInt64 = 0
    /// From a random start: replies that a service kept for an earlier gateway must not fit a request of this one.
    private var lastCorrelation = UInt64.random(in: 1..<1 << 62)
    /// Where the search for the least loaded lane began last.
    var turn: UInt = 0
    let withoutWindow: Set<String>

    /// - Parameter withoutWindow: the services that get everything at once, since some of their requests wait for
    ///   others of theirs: a window full of the first would keep the others out. They bound what they take themselves.
    package init(withoutWindow: Set<String> = []) { self.withoutWindow = withoutWindow }

    // MARK: Lanes

    /// A lane is there, has a new role, or has come back by another connection.
    package mutating func hello(_ id: LaneID, _ hello: Hello, now: BusClock.Milliseconds, _ actions: inout [Action]) {
        reconnected(id, hello.connection, now: now, &actions)
        if lanes[id] == nil {
            lanes[id] = Lane(id: id, hello: hello, lastHeard: now)
            lanesOfService[hello.service[...], default: []].append(id)
            lead(of: hello.service[...])
        } else {
            // It lost the database, and does not know itself what was committed at last.
            if let before = lanes[id]?.hello, before.edition != 0, hello.edition == 0 { bereaved.insert(hello.service) }
            lanes[id]?.hello = hello
            heard(id, now: now)
        }
        if hello.writer, hello.edition != 0, lanes[id]?.isLeaving == false {
            editions[hello.service[...]] = hello.edition
        }
        dispatchWaiting(hello.service[...], now: now, &actions)
    }

    /// A process stops taking requests and finishes those it has. Whichever of its lanes says so first speaks for the
    /// others.
    package mutating func goodbye(_ id: LaneID, now: BusClock.Milliseconds) {
        guard let leaving = lanes[id] else { return }
        heard(id, now: now)
        for other in lanesOfService[leaving.hello.service[...]] ?? [] where lanes[other]?.process == leaving.process {
            lanes[other]?.isLeaving = true
        }
    }

    /// A lane died. What it had goes to another lane if that is safe, else its origin hears that the outcome is
    /// unknown.
    package mutating func gone(_ id: LaneID, now: BusClock.Milliseconds, _ actions: inout [Action]) {
        gone(id, .closed, now: now, &actions)
    }

    /// What was on its way by a lane's earlier connection may be lost, and nothing else tells of it: a socket that
    /// dials again takes the place of its old connection at once (`ZMQ_ROUTER_HANDOVER`).
    /// - Parameter connection: the number of the one by which it spoke now; of the same one nothing is lost.
    package mutating func reconnected(
        _ id: LaneID, _ connection: UInt64, now: BusClock.Milliseconds, _ actions: inout [Action]
    ) {
        guard let before = lanes[id]?.hello.connection, before != 0, connection > before else { return }
        gone(id, .reconnected, now: now, &actions)
    }

    private mutating func heard(_ id: LaneID, now: BusClock.Milliseconds) {
        lanes[id]?.lastHeard = now
        lanes[id]?.isDoubtful = false
    }

    /// A lane says nothing any more. What it is working on is the oldest read that it has not passed: that one is never
    /// sent again.
    private mutating func fellSilent(_ lane: Lane, now: BusClock.Milliseconds, _ actions: inout [Action]) {
        let suspect = lane.inFlight.filter { correlation in
            pending[correlation].map { !$0.message.envelope.writes && $0.sending > lane.answered } ?? false
        }.min { pending[$0]?.sending ?? 0 < pending[$1]?.sending ?? 0 }
        gone(lane.id, .silent(suspect: suspect), now: now, &actions)
    }

    private mutating func gone(
        _ id: LaneID, _ ending: Ending, now: BusClock.Milliseconds, _ actions: inout [Action]
    ) {
        guard let lane = lanes.removeValue(forKey: id) else { return }
        let service = lane.hello.service[...]
        if lane.hello.edition != 0, !lane.isLeaving { bereaved.insert(lane.hello.service) }
        lanesOfService[service]?.removeAll { $0 == id }
        if lane.leads { lead(of: service) }
        if isBreak(ending, of: lane, now: now) {
            for other in lanesOfService[service] ?? [] where lanes[other]?.process == lane.process {
                lanes[other]?.isDoubtful = true
            }
        }
        for correlation in lane.inFlight.sorted().reversed() {
            guard var entry = pending[correlation] else { continue }
            entry.lane = nil
            entry.laneDeadline = now + Self.laneWaitMax
            let isSuspect = count(ending, of: lane, against: &entry, correlation, now: now)
            pending[correlation] = entry
            if isSuspect {
                finish(correlation, with: .stalled, &actions)
            } else if entry.message.envelope.isRepeatable, entry.deaths < Self.deathsMax {
                waiting[service, default: WaitingLine()].prepend(correlation, of: entry.message.shareholder)
            } else {
                finish(correlation, with: .outcomeUnknown, &actions)
            }
        }
        dispatchWaiting(service, now: now, &actions)
    }

    /// Counts the end of a lane against a request that it had; true when the lane was stuck on it.
    private func count(
        _ ending: Ending, of lane: Lane, against entry: inout Pending, _ correlation: UInt64,
        now: BusClock.Milliseconds
    ) -> Bool {
        switch ending {
        case .silent(let suspect):
            entry.deaths += 1
            entry.lastDead = nil
            return correlation == suspect
        case .closed where !isBreak(ending, of: lane, now: now):
            // Of a process that died all lanes end, and a request may meet several of them: that is one death.
            if entry.lastDead != lane.process { entry.deaths += 1 }
            entry.lastDead = lane.process
            return false
        case .closed, .reconnected:
            return false
        }
    }

    /// Whether it is the connection that ended, and the process may live.
    private func isBreak(_ ending: Ending, of lane: Lane, now: BusClock.Milliseconds) -> Bool {
        switch ending {
        case .closed: now - lane.lastHeard >= Self.breakSilence
        case .reconnected: true
        case .silent: false
        }
    }

    /// The services of which a process was lost with what it may have changed; each is named once.
    package mutating func takeBereaved() -> Set<String> {
        guard !bereaved.isEmpty else { return [] }
        defer { bereaved = [] }
        return bereaved
    }

    /// The first lane of each process of a service leads.
    private mutating func lead(of service: Substring) {
        var seen: Set<LaneID> = []
        for id in lanesOfService[service] ?? [] {
            if let process = lanes[id]?.process { lanes[id]?.leads = seen.insert(process).inserted }
        }
    }

    /// Requests that each replica was sent since it joined, by its name; of those that left nothing is known.
    package var requestsByReplica: [String: Int] {
        lanes.values.reduce(into: [:]) { $0[$1.hello.replica, default: 0] += $1.taken }
    }

    /// Requests that wait for a lane, by service; of those that nobody waits for nothing.
    package var waitingByService: [String: Int] {
        waiting.reduce(into: [:]) { if !$1.value.isEmpty { $0[String($1.key)] = $1.value.count } }
    }

    /// The edition that shared requests of a service go to; nil while no writer has named one.
    package func edition(of service: String) -> UInt64? { editions[service[...]] }

    // MARK: Requests

    package mutating func request(
        _ message: BusMessage, from origin: Origin, now: BusClock.Milliseconds, _ actions: inout [Action]
    ) {
        let envelope = message.envelope
        guard envelope.deadline > now else {
            return refuse(message, origin, .timedOut, &actions)
        }
        lastCorrelation += 1
        let correlation = lastCorrelation
        var forwarded = message
        forwarded.envelope.correlation = correlation
        forwarded.envelope.remaining = envelope.deadline - now
        pending[correlation] = Pending(
            message: forwarded, origin: origin, originCorrelation: envelope.correlation,
            laneDeadline: now + Self.laneWaitMax)
        let service = envelope.destination
        if let lane = chosenLane(of: service, for: envelope) {
            return send(correlation, to: lane, &actions)
        }
        let client = message.shareholder
        let line = waiting[service]
        if line?.count ?? 0 >= Self.waitingMax {
            finish(correlation, with: .unavailable("\(service) has too much to do; try again."), &actions)
        } else if client != 0, line?.count(of: client) ?? 0 >= Self.waitingPerClientMax {
            finish(
                correlation,
                with: .tooManyRequests("Too many of your requests are waiting; try again.", retryAfterSeconds: 1),
                &actions)
        } else {
            waiting[service, default: WaitingLine()].append(correlation, of: client)
        }
    }

    package mutating func reply(
        _ message: BusMessage, from id: LaneID, now: BusClock.Milliseconds, _ actions: inout [Action]
    ) {
        heard(id, now: now)
        lanes[id]?.inFlight.remove(message.envelope.correlation)
        // Absent: the deadline passed, or a lane that was given up answered after all.
        guard let entry = pending[message.envelope.correlation], entry.lane == id,
            entry.message.envelope.kind == message.envelope.kind
        else { return }
        pending[message.envelope.correlation] = nil
        if !entry.message.envelope.writes, let answered = lanes[id]?.answered, answered < entry.sending {
            lanes[id]?.answered = entry.sending
        }
        var answer = message
        // Zero: the gateway's own request, which needs none; changing it would copy the envelope.
        if entry.originCorrelation != 0 { answer.envelope.correlation = entry.originCorrelation }
        actions.append(.answer(entry.origin, answer))
        if let service = lanes[id]?.hello.service, let queue = waiting[service[...]], !queue.isEmpty {
            dispatchWaiting(service[...], now: now, &actions)
        }
    }

    /// Whether a request has no answer yet.
    package var hasPending: Bool { !pending.isEmpty }

    /// Whether a request of such an origin has no answer yet.
    package func hasPending(from isMeant: (Origin) -> Bool) -> Bool { pending.values.contains { isMeant($0.origin) } }

    /// Ends requests whose deadline passed and lanes that fell silent. To be called several times a second.
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
        for lane in lanes.values where now - lane.lastHeard > Self.silenceMax {
            fellSilent(lane, now: now, &actions)
        }
    }

    /// Whoever waits for a service of which a replica is leaving waits for what comes after it: the next writer, or the
    /// process started again. The time for a lane to appear begins when it has left.
    private mutating func waitForSuccessors(now: BusClock.Milliseconds) {
        let services = Set(lanes.values.filter(\.isLeaving).map { $0.hello.service[...] })
        guard !services.isEmpty else { return }
        for (correlation, entry) in pending where entry.lane == nil {
            if services.contains(entry.message.envelope.destination) {
                pending[correlation]?.laneDeadline = now + Self.laneWaitMax
            }
        }
    }

    /// The gateway stops: everybody who waits is told.
    /// - Parameter asksElsewhere: whether an origin sends what may be repeated by another gateway, or by the next one,
    ///   when it sees this one go. It is told nothing of such.
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

    private mutating func send(_ correlation: UInt64, to lane: LaneID, _ actions: inout [Action]) {
        guard var entry = pending.removeValue(forKey: correlation) else { return }
        entry.lane = lane
        entry.attempts += 1
        lastSending += 1
        entry.sending = lastSending
        lanes[lane]?.inFlight.insert(correlation)
        lanes[lane]?.taken += 1
        actions.append(.send(lane, entry.message))
        pending[correlation] = entry
    }

    private mutating func dispatchWaiting(
        _ service: Substring, now: BusClock.Milliseconds, _ actions: inout [Action]
    ) {
        guard var line = waiting.removeValue(forKey: service), !line.isEmpty else { return }
        // Once no lane takes a write none takes the next one, and a lane that takes no read takes no write either. The
        // writer takes what is shared as well: where nobody takes that, it takes no write.
        var (takesWrites, takesShared) = (true, true)
        line.takeInOrder { correlation in
            guard let envelope = pending[correlation]?.message.envelope else { return .taken }
            let (writes, shared) = (envelope.writes, envelope.shared)
            guard !writes || (shared ? takesShared : takesWrites) else { return .kept }
            guard let lane = chosenLane(of: service, for: envelope) else {
                takesWrites = false
                if shared { takesShared = false }
                return writes ? .kept : .stop
            }
            pending[correlation]?.message.envelope.remaining = envelope.deadline - now
            send(correlation, to: lane, &actions)
            return .taken
        }
        if !line.isEmpty { waiting[service] = line }
    }

    private mutating func finish(_ correlation: UInt64, with failure: BusFailure, _ actions: inout [Action]) {
        guard let entry = pending.removeValue(forKey: correlation) else { return }
        if let lane = entry.lane {
            lanes[lane]?.inFlight.remove(correlation)
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
    /// The client that the request is counted for.
    fileprivate var shareholder: Int { envelope.principal.shareholder }
}
