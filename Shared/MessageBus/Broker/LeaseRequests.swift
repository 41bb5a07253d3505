import Messages

/// The knowledge about one service that a gateway caches. With several gateways it is valid only under a lease.
public struct LeasedCache: Sendable {
    /// The service whose writer grants the lease.
    public let service: String
    /// Determines whether the cached knowledge is valid.
    public let lease: CacheLease
    /// The invalidation of all cached knowledge of the service.
    public let all: Forget

    /// The knowledge of a service, with its lease.
    public init(service: String, lease: CacheLease, all: Forget) {
        self.service = service
        self.lease = lease
        self.all = all
    }
}

/// Requests a gateway's leases and triggers invalidations. Performs the decisions of `LeaseBook`; the broker's thread
/// owns it.
struct LeaseRequests {
    typealias LaneID = [UInt8]

    private struct Entry {
        let cache: LeasedCache
        var book = LeaseBook()
        /// A lane of the writer.
        var lane: LaneID?
        var askedAt: BusClock.Milliseconds = 0
    }

    private var entries: [String: Entry] = [:]
    /// Identifies this gateway process to services.
    private let gateway = UInt64.random(in: 1 ... .max)
    /// Invalidates all knowledge of a service at once.
    private let invalidate: (_ all: Forget, _ isGap: Bool) -> Void

    init(_ all: [LeasedCache], invalidate: @escaping (_ all: Forget, _ isGap: Bool) -> Void) {
        for cache in all { entries[cache.service] = Entry(cache: cache) }
        self.invalidate = invalidate
    }

    /// A lane sent a hello, possibly with a lease.
    /// - Returns: whether to request a lease at once.
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

    /// A lost process of these services may have committed changes without sending the invalidation. No client got a
    /// reply for those changes, so no notice relied on them.
    func invalidateAfterLoss(of services: Set<String>) {
        for service in services {
            if let entry = entries[service] { invalidate(entry.cache.all, false) }
        }
    }

    /// Invalidates knowledge that may be stale before the lease becomes valid.
    private func apply(_ change: LeaseBook.Change, _ entry: inout Entry) {
        if case .forget(let isGap) = change { invalidate(entry.cache.all, isGap) }
        entry.cache.lease.set(entry.book.validUntil)
    }

    /// The lease requests that are due.
    mutating func dueRequests(now: BusClock.Milliseconds) -> [(lane: LaneID, message: BusMessage)] {
        var due: [(lane: LaneID, message: BusMessage)] = []
        for (service, entry) in entries where entry.book.asks && now - entry.askedAt >= LeaseTerms.askingEvery {
            guard let lane = entry.lane else { continue }
            entries[service]?.askedAt = now
            due.append((lane, message(.hello, UInt64(bitPattern: now))))
        }
        return due
    }

    /// The messages to the writers when the gateway stops: it no longer uses any cached knowledge.
    var leaseReleases: [(lane: LaneID, message: BusMessage)] {
        entries.values.compactMap { entry in
            entry.book.asks ? entry.lane.map { ($0, message(.forget, 0)) } : nil
        }
    }

    /// Confirms that the invalidation of a round is complete.
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
