import MessageBus
import Messages
import TestSupport
import Testing

/// Gateways and writers with events in any order: no gateway trusts stale data after a change was answered. Each rule
/// is needed: without it, a gateway trusts revoked data.
@Suite struct LeaseHistoryTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func noGatewayTrustsRevokedData(seed: UInt64) {
        let simulation = LeaseSimulation(seed: seed, fault: nil)
        simulation.run(steps: 20_000)
        #expect(simulation.violations.isEmpty, "\(simulation.violations.prefix(5))")
        // Checks that the simulation is meaningful: leases are used, and changes are answered.
        #expect(simulation.believed > 500)
        #expect(simulation.answered > 100)
    }

    @Test(arguments: LeaseSimulation.Fault.allCases) func aRuleThatIsSkippedIsFound(fault: LeaseSimulation.Fault) {
        let found = (1...40 as ClosedRange<UInt64>).contains { seed in
            let simulation = LeaseSimulation(seed: seed, fault: fault)
            simulation.run(steps: 20_000)
            return !simulation.violations.isEmpty
        }
        #expect(found)
    }
}

/// Three gateways and a succession of writers. Messages are delayed, lost or reordered, gateways are stopped, and
/// writers are killed or leave.
///
/// The cached value is the number of the last change that it reflects. A writer answers a change when its rounds are
/// complete; from then on, trusting an older number is a violation.
final class LeaseSimulation {
    enum Fault: CaseIterable {
        /// A gateway trusts its cache although its lease has ended.
        case believesWithoutLease
        /// It caches answers that were in flight when it was ordered to forget.
        case keepsWhatWasUnderWay
        /// It keeps its cache after it missed a round.
        case overlooksGaps
        /// It confirms without forgetting.
        case saysButDoesNot
        /// A writer answers before the gateways have confirmed.
        case answersAtOnce
        /// A writer does not wait for silent gateways.
        case waitsForNobodySilent
        /// A new writer does not wait for leases of the previous one.
        case trustsTheOneBefore
        /// A leaving writer grants leases.
        case leasesWhileLeaving
    }

    private final class Gateway {
        let id: UInt64
        /// The offset of its clock to the simulation's clock.
        let ahead: Int64
        var book = LeaseBook()
        var kept: Int?
        var generation = 0
        var asksNext: Int64 = 0
        var stoppedUntil: Int64 = 0

        init(_ id: UInt64, ahead: Int64) {
            self.id = id
            self.ahead = ahead
        }
    }

    fileprivate final class Writer {
        let term: UInt64
        var rounds = InvalidationRounds<Int>()
        var isAlive = true
        /// While it leaves, it still completes its pending rounds.
        var endsAt: Int64 = .max

        init(_ term: UInt64) { self.term = term }
    }

    fileprivate enum Message {
        case hello(Writer)
        case ask(Writer, at: Int64)
        case grant(Lease, askedAt: Int64)
        case tell(Writer, round: UInt64)
        case heard(Writer, round: UInt64)
        case answer(change: Int, generation: Int)
    }

    private(set) var violations: [String] = []
    private(set) var believed = 0
    private(set) var answered = 0
    private let fault: Fault?
    private var random: Seeded
    private var now: Int64 = 100_000
    private var stored = 0
    /// The latest change that was answered.
    private var known = 0
    private var lastTerm: UInt64 = 1
    private var writer = Writer(1)
    private var leaving: [Writer] = []
    private var nextWriterAt: Int64?
    private let gateways: [Gateway]
    private var underWay: [(at: Int64, gateway: Gateway, message: Message)] = []

    init(seed: UInt64, fault: Fault?) {
        self.fault = fault
        random = Seeded(seed)
        gateways = [Gateway(1, ahead: 0), Gateway(2, ahead: 50_000), Gateway(3, ahead: -77_000)]
        begin(writer)
    }

    func run(steps: Int) {
        for _ in 0..<steps {
            now += Int64.random(in: 1...25, using: &random)
            stepOfWriters()
            for gateway in gateways where gateway.stoppedUntil <= now { step(of: gateway) }
            deliver()
        }
    }

    private func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    private func send(_ message: Message, with gateway: Gateway, isSure: Bool = false) {
        guard isSure || !chance(20) else { return }
        let delay = chance(10) ? Int64.random(in: 0...2500, using: &random) : .random(in: 0...20, using: &random)
        underWay.append((now + delay, gateway, message))
    }

    // MARK: Writers

    private func begin(_ writer: Writer) {
        writer.rounds.begin(term: writer.term, now: fault == .trustsTheOneBefore ? now - 60_000 : now)
        for gateway in gateways { send(.hello(writer), with: gateway, isSure: true) }
    }

    private func stepOfWriters() {
        for old in leaving where old.endsAt <= now { old.isAlive = false }
        leaving.removeAll { !$0.isAlive }
        for writer in leaving + [writer] where writer.isAlive { finish(writer.rounds.tick(now: patience)) }
        if let moment = nextWriterAt {
            guard moment <= now else { return }
            nextWriterAt = nil
            lastTerm += 1
            writer = Writer(lastTerm)
            return begin(writer)
        }
        if chance(40) { revoke() }
        guard chance(1000) else { return }
        if chance(2) {
            writer.isAlive = false
        } else {
            if fault != .leasesWhileLeaving { writer.rounds.close() }
            writer.endsAt = now + 3000
            leaving.append(writer)
        }
        // The lock is free immediately.
        nextWriterAt = now + .random(in: 0...1500, using: &random)
    }

    /// The time with which a writer judges leases.
    private var patience: Int64 { fault == .waitsForNobodySilent ? now + 60_000 : now }

    private func revoke() {
        stored += 1
        if fault == .answersAtOnce { finish([stored]) }
        guard let tellings = writer.rounds.forget(Forget(), holding: stored, now: patience) else {
            return finish([stored])
        }
        for telling in tellings { tell(writer, telling) }
    }

    private func tell(_ writer: Writer, _ telling: InvalidationRounds<Int>.Telling) {
        guard let gateway = gateways.first(where: { $0.id == telling.gateway }) else { return }
        send(.tell(writer, round: telling.round), with: gateway)
    }

    private func finish(_ changes: [Int]) {
        answered += changes.count
        for change in changes { known = max(known, change) }
    }

    // MARK: Gateways

    private func step(of gateway: Gateway) {
        if chance(1500) {
            gateway.stoppedUntil = now + .random(in: 100...9000, using: &random)
            return
        }
        if gateway.book.asks, gateway.asksNext <= now {
            gateway.asksNext = now + LeaseTerms.askingEvery
            let all = leaving + [writer]
            for asked in all where gateway.book.isOf(asked.term) {
                send(.ask(asked, at: now + gateway.ahead), with: gateway)
            }
        }
        guard chance(4) else { return }
        let isValid = fault == .believesWithoutLease || now + gateway.ahead < gateway.book.validUntil
        guard isValid, let kept = gateway.kept else {
            // The value is read now and arrives later.
            return send(.answer(change: stored, generation: gateway.generation), with: gateway)
        }
        believed += 1
        if kept < known { violations.append("\(gateway.id) believes \(kept) at \(now), and \(known) was answered") }
        if chance(50) { gateway.kept = nil }
    }

    private func apply(_ change: LeaseBook.Change, _ gateway: Gateway) {
        guard change != .none, fault != .overlooksGaps else { return }
        forget(gateway)
    }

    private func forget(_ gateway: Gateway) {
        gateway.kept = nil
        gateway.generation += 1
    }

    private func deliver() {
        let due = underWay.filter { $0.at <= now && ($0.gateway.stoppedUntil <= now || $0.message.isForWriter) }
        underWay.removeAll { $0.at <= now && ($0.gateway.stoppedUntil <= now || $0.message.isForWriter) }
        for (_, gateway, message) in due { take(message, gateway) }
    }

    private func take(_ message: Message, _ gateway: Gateway) {
        switch message {
        case .hello(let writer):
            let hello = Hello.with {
                $0.writer = true
                $0.term = writer.term
                $0.leases = true
            }
            // A former writer sends no hello. Its hello would have the same effect as its next lease.
            guard writer === self.writer else { return }
            apply(gateway.book.hello(hello, now: now + gateway.ahead), gateway)
        case .ask(let writer, let askedAt):
            guard writer.isAlive else { return }
            let (lease, again) = writer.rounds.ask(gateway.id, now: now)
            if let lease { send(.grant(lease, askedAt: askedAt), with: gateway) }
            for telling in again { tell(writer, telling) }
        case .grant(let lease, let askedAt):
            apply(gateway.book.granted(lease, askedAt: askedAt, now: now + gateway.ahead), gateway)
        case .tell(let writer, let round):
            if fault != .saysButDoesNot { forget(gateway) }
            send(.heard(writer, round: round), with: gateway)
        case .heard(let writer, let round):
            guard writer.isAlive else { return }
            finish(writer.rounds.heard(gateway.id, round, now: patience))
        case .answer(let change, let generation):
            guard generation == gateway.generation || fault == .keepsWhatWasUnderWay else { return }
            gateway.kept = change
        }
    }
}

extension LeaseSimulation.Message {
    /// Whether it goes to a writer. Writers are never stopped.
    fileprivate var isForWriter: Bool {
        switch self {
        case .ask, .heard: true
        case .hello, .grant, .tell, .answer: false
        }
    }
}
