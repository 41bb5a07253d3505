import Messages

/// The knowledge that a gateway keeps of one service, and may believe under a lease alone where there are several
/// gateways.
public struct LeasedKnowledge: Sendable {
    /// The service whose writer gives the lease.
    public let service: String
    /// Says whether what is kept may be believed.
    public let lease: KnowledgeLease
    /// Names all that is kept of the service.
    public let all: Forget

    /// The knowledge of a service, with the lease that it is believed under.
    public init(service: String, lease: KnowledgeLease, all: Forget) {
        self.service = service
        self.lease = lease
        self.all = all
    }
}

/// A gateway's leases: it asks for them, and says what must be forgotten first. Performs what `LeaseBook` decides; the
/// broker's thread owns it.
struct LeaseKeeper {
    typealias LaneID = [UInt8]

    private struct Entry {
        let knowledge: LeasedKnowledge
        var book = LeaseBook()
        /// A lane of the writer.
        var lane: LaneID?
        var askedAt: BusClock.Milliseconds = 0
    }

    private var entries: [String: Entry] = [:]
    /// Names this process to services.
    private let gateway = UInt64.random(in: 1 ... .max)
    /// Forgets all of a service at once.
    private let forget: (_ all: Forget, _ isGap: Bool) -> Void

    init(_ all: [LeasedKnowledge], forget: @escaping (_ all: Forget, _ isGap: Bool) -> Void) {
        for knowledge in all { entries[knowledge.service] = Entry(knowledge: knowledge) }
        self.forget = forget
    }

    /// A lane says hello, perhaps with a lease.
    /// - Returns: whether a lease should be asked for at once.
    mutating func hello(_ hello: Hello, _ envelope: Envelope, from lane: LaneID, now: BusClock.Milliseconds) -> Bool {
        guard hello.writer, var entry = entries[hello.service] else { return false }
        let wasAsking = entry.lane != nil && entry.book.asks && entry.book.isOf(hello.term)
        apply(entry.book.hello(hello, now: now), &entry)
        if envelope.hasLease {
            let askedAt = BusClock.Milliseconds(truncatingIfNeeded: envelope.correlation)
            apply(entry.book.granted(envelope.lease, askedAt: askedAt, now: now), &entry)
        }
        if entry.book.isOf(hello.term), !envelope.hasLease { entry.lane = lane }
        let asksNow = entry.book.asks && !wasAsking
        if asksNow { entry.askedAt = 0 }
        entries[hello.service] = entry
        return asksNow
    }

    /// Processes of these services were lost that may have changed something beside the one that leads, and told
    /// nobody. Nobody was answered for it.
    func lost(_ services: Set<String>) {
        for service in services {
            if let entry = entries[service] { forget(entry.knowledge.all, false) }
        }
    }

    /// What may be missed is forgotten before the lease counts.
    private func apply(_ change: LeaseBook.Change, _ entry: inout Entry) {
        if case .forget(let isGap) = change { forget(entry.knowledge.all, isGap) }
        entry.knowledge.lease.set(entry.book.validUntil)
    }

    /// The questions for leases that are due.
    mutating func questions(now: BusClock.Milliseconds) -> [(lane: LaneID, message: BusMessage)] {
        var questions: [(lane: LaneID, message: BusMessage)] = []
        for (service, entry) in entries where entry.book.asks && now - entry.askedAt >= LeaseTerms.askingEvery {
            guard let lane = entry.lane else { continue }
            entries[service]?.askedAt = now
            questions.append((lane, message(.hello, UInt64(bitPattern: now))))
        }
        return questions
    }

    /// What is said to the writers when the gateway stops: it believes nothing any more.
    var farewells: [(lane: LaneID, message: BusMessage)] {
        entries.values.compactMap { entry in
            entry.book.asks ? entry.lane.map { ($0, message(.forget, 0)) } : nil
        }
    }

    /// Says that a round's forgetting is done.
    func answer(toRound round: UInt64) -> BusMessage { message(.forget, round) }

    private func message(_ form: Envelope.Form, _ correlation: UInt64) -> BusMessage {
        var envelope = Envelope()
        envelope.version = BusMessage.version
        envelope.form = form
        envelope.correlation = correlation
        envelope.gateway = gateway
        return BusMessage(envelope: envelope)
    }
}
