import Messages
import Synchronization

/// A service's end of the leases: holds replies that gateways must hear of first, tells the gateways, and gives leases.
/// Performs what `ForgetRounds` decides.
final class GatewayNews: Sendable {
    private struct Held: Sendable {
        let reply: BusMessage
        let way: LaneLink
    }

    private struct State {
        var rounds = ForgetRounds<Held>()
        /// The lane by which each gateway asked last.
        var lanes: [UInt64: LaneLink] = [:]
        /// Whether there may be several gateways. Never again false.
        var isOn: Bool
        /// Whether this process is the writer, which gives the leases.
        var leads = false
        /// The way to the process that leads; nil where nobody writes beside it.
        var teller: Teller?
    }

    /// Has the process that leads tell the gateways. The completion is called once: with whether they were told.
    typealias Teller = @Sendable (Forget, _ completion: @escaping @Sendable (Bool) -> Void) -> Void

    private let state: Mutex<State>
    /// Replies that wait until the process that leads has told the gateways.
    private let asking = Atomic<Int>(0)
    /// `isWaiting` for lanes, which ask at every turn.
    private let waiting = Atomic<Bool>(false)

    /// - Parameter isOn: whether there are several gateways already.
    init(isOn: Bool) { state = Mutex(State(isOn: isOn)) }

    /// There may be several gateways from now on.
    func turnOn() { state.withLock { $0.isOn = true } }

    /// This process is the writer from now on.
    func begin(term: UInt64) {
        state.withLock { state in
            state.leads = true
            state.rounds.begin(term: term, now: LeaseTerms.now)
        }
    }

    /// This process writes beside the one that leads, while it does not lead itself.
    func tell(by teller: @escaping Teller) { state.withLock { $0.teller = teller } }

    /// No lease is given any more.
    func close() { state.withLock { $0.rounds.close() } }

    /// Whether replies are held.
    var isWaiting: Bool { waiting.load(ordering: .acquiring) || asking.load(ordering: .acquiring) > 0 }

    /// The lanes by which gateways have asked for leases.
    var askers: [LaneLink] { state.withLock { Array($0.lanes.values) } }

    /// Holds a reply with something to forget, until each gateway has forgotten it that could still believe it.
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

    /// Where the gateways were not told the change was made all the same: that is not known, as when a reply is lost.
    private func ask(_ teller: Teller, _ held: Held) {
        asking.add(1, ordering: .acquiringAndReleasing)
        teller(held.reply.envelope.forget) { [self] isTold in
            release([isTold ? held : Held(reply: held.reply.outcomeUnknown, way: held.way)])
            asking.subtract(1, ordering: .acquiringAndReleasing)
        }
    }

    /// A gateway asks for a lease.
    /// - Returns: nil when it gets none now.
    func ask(_ gateway: UInt64, by lane: LaneLink) -> Lease? {
        state.withLock { state in
            guard state.isOn else { return nil }
            let (lease, tellings) = state.rounds.ask(gateway, now: LeaseTerms.now)
            if state.lanes.count >= 2 * ForgetRounds<Held>.membersMax { state.lanes = [:] }
            state.lanes[gateway] = lane
            Self.tell(tellings, state.lanes)
            return lease
        }
    }

    /// A gateway has forgotten what a round told it; with 0, everything, because it stops.
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

    private static func tell(_ tellings: [ForgetRounds<Held>.Telling], _ lanes: [UInt64: LaneLink]) {
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
    /// In place of this reply: that nobody knows what became of the request. What is to be forgotten stays in it.
    fileprivate var outcomeUnknown: BusMessage {
        var envelope = envelope
        envelope.failure = BusFailure.outcomeUnknown.failure
        return BusMessage(envelope: envelope)
    }
}
