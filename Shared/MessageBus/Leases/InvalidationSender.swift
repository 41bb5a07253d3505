import Messages
import Synchronization

/// A service's end of the leases: holds replies until gateways have applied their invalidations, sends the
/// invalidations, and grants leases. Performs the decisions of `InvalidationRounds`.
final class InvalidationSender: Sendable {
    private struct Held: Sendable {
        let reply: BusMessage
        let way: LaneLink
    }

    private struct State {
        var rounds = InvalidationRounds<Held>()
        /// The lane of each gateway's last lease request.
        var lanes: [UInt64: LaneLink] = [:]
        /// Whether there may be several gateways. Never reset to false.
        var isOn: Bool
        /// Whether this process is the writer, which grants leases.
        var leads = false
        /// Asks the leader to notify the gateways; nil where only one process writes.
        var teller: Teller?
    }

    /// Asks the leader to notify the gateways. Calls the completion once, with whether they were notified.
    typealias Teller = @Sendable (Forget, _ completion: @escaping @Sendable (Bool) -> Void) -> Void

    private let state: Mutex<State>
    /// Replies that wait until the leader has notified the gateways.
    private let asking = Atomic<Int>(0)
    /// `isWaiting` for lanes, which read it in every loop.
    private let waiting = Atomic<Bool>(false)

    /// - Parameter isOn: whether there are already several gateways.
    init(isOn: Bool) { state = Mutex(State(isOn: isOn)) }

    /// There may be several gateways from now on.
    func turnOn() { state.withLock { $0.isOn = true } }

    /// This process becomes the writer.
    func begin(term: UInt64) {
        state.withLock { state in
            state.leads = true
            state.rounds.begin(term: term, now: LeaseTerms.now)
        }
    }

    /// Sets how this process notifies gateways while it writes without being the leader.
    func tell(by teller: @escaping Teller) { state.withLock { $0.teller = teller } }

    /// Stops granting leases.
    func close() { state.withLock { $0.rounds.close() } }

    /// Whether replies are held.
    var isWaiting: Bool { waiting.load(ordering: .acquiring) || asking.load(ordering: .acquiring) > 0 }

    /// The lanes on which gateways have requested leases.
    var askers: [LaneLink] { state.withLock { Array($0.lanes.values) } }

    /// Holds a reply with an invalidation until each gateway that may still use the old state has confirmed it.
    /// - Returns: false when the reply may leave now.
    func hold(_ reply: BusMessage, _ way: LaneLink) -> Bool {
        let held = Held(reply: reply, way: way)
        let (isHeld, teller) = state.withLock { state -> (Bool, Teller?) in
            guard state.isOn else { return (false, nil) }
            if !state.leads, let teller = state.teller { return (true, teller) }
            guard let tellings = state.rounds.forget(reply.envelope.forget, holding: held, now: LeaseTerms.now)
            else { return (false, nil) }
            waiting.store(true, ordering: .releasing)
            Self.tell(tellings, state.lanes)
            return (true, nil)
        }
        if let teller { ask(teller, held) }
        return isHeld
    }

    /// If the notification fails, the change is committed nevertheless, so the client gets an unknown outcome.
    private func ask(_ teller: Teller, _ held: Held) {
        asking.add(1, ordering: .acquiringAndReleasing)
        teller(held.reply.envelope.forget) { [self] isTold in
            release([isTold ? held : Held(reply: held.reply.outcomeUnknown, way: held.way)])
            asking.subtract(1, ordering: .acquiringAndReleasing)
        }
    }

    /// A gateway requests a lease.
    /// - Returns: nil when it gets none now.
    func ask(_ gateway: UInt64, by lane: LaneLink) -> Lease? {
        state.withLock { state in
            guard state.isOn else { return nil }
            let (lease, tellings) = state.rounds.ask(gateway, now: LeaseTerms.now)
            if state.lanes.count >= 2 * InvalidationRounds<Held>.membersMax { state.lanes = [:] }
            state.lanes[gateway] = lane
            Self.tell(tellings, state.lanes)
            return lease
        }
    }

    /// A gateway confirmed the invalidation of a round; round 0 means that the gateway stops and uses no cached state.
    func heard(_ gateway: UInt64, round: UInt64) {
        release(
            state.withLock { state in
                defer { waiting.store(state.rounds.isWaiting, ordering: .releasing) }
                guard round == 0 else { return state.rounds.heard(gateway, round, now: LeaseTerms.now) }
                state.lanes[gateway] = nil
                return state.rounds.left(gateway, now: LeaseTerms.now)
            })
    }

    /// To be called several times a second while `isWaiting`.
    func tick() {
        guard waiting.load(ordering: .acquiring) else { return }
        release(
            state.withLock { state in
                defer { waiting.store(state.rounds.isWaiting, ordering: .releasing) }
                return state.rounds.tick(now: LeaseTerms.now)
            })
    }

    private func release(_ all: [Held]) {
        for held in all { held.way.thread.mailbox.post(.send(held.reply)) }
    }

    private static func tell(_ tellings: [InvalidationRounds<Held>.Telling], _ lanes: [UInt64: LaneLink]) {
        for telling in tellings {
            var envelope = Envelope()
            envelope.version = BusMessage.version
            envelope.form = .forget
            envelope.correlation = telling.round
            envelope.forget = telling.forget
            lanes[telling.gateway]?.thread.mailbox.post(.tell(BusMessage(envelope: envelope)))
        }
    }
}

extension BusMessage {
    /// A replacement for this reply that reports an unknown outcome. It keeps the invalidation.
    fileprivate var outcomeUnknown: BusMessage {
        var envelope = envelope
        envelope.failure = BusFailure.outcomeUnknown.failure
        return BusMessage(envelope: envelope)
    }
}
