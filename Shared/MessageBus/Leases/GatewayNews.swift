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
    }

    private let state: Mutex<State>
    /// `isWaiting` for lanes, which ask at every turn.
    private let waiting = Atomic<Bool>(false)

    /// - Parameter isOn: whether there are several gateways already.
    init(isOn: Bool) { state = Mutex(State(isOn: isOn)) }

    /// There may be several gateways from now on.
    func turnOn() { state.withLock { $0.isOn = true } }

    /// This process is the writer from now on.
    func begin(term: UInt64) { state.withLock { $0.rounds.begin(term: term, now: LeaseTerms.now) } }

    /// No lease is given any more.
    func close() { state.withLock { $0.rounds.close() } }

    /// Whether replies are held.
    var isWaiting: Bool { waiting.load(ordering: .acquiring) }

    /// The lanes by which gateways have asked for leases.
    var askers: [LaneLink] { state.withLock { Array($0.lanes.values) } }

    /// Holds a reply with something to forget, until each gateway has forgotten it that could still believe it.
    /// - Returns: false when the reply may leave now.
    func hold(_ reply: BusMessage, _ way: LaneLink) -> Bool {
        state.withLock { state in
            guard state.isOn else { return false }
            let held = Held(reply: reply, way: way)
            guard let tellings = state.rounds.forget(reply.envelope.forget, holding: held, now: LeaseTerms.now)
            else { return false }
            waiting.store(true, ordering: .releasing)
            Self.tell(tellings, state.lanes)
            return true
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
        guard isWaiting else { return }
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
