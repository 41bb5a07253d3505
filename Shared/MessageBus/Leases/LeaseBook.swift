import Messages
import Synchronization

/// A gateway's half of the leases for one service, without I/O: the current writer, the end of its lease, and
/// invalidations that the gateway may have missed.
package struct LeaseBook {
    /// The effect of an event on the cached state.
    package enum Change: Equatable {
        case none
        /// All cached state must be invalidated before `validUntil` takes effect.
        /// - isGap: true if an invalidation may have been missed whose reply has already left. Otherwise only
        ///   invalidations without a reply may have been missed.
        case forget(isGap: Bool)
    }

    private struct Writer {
        let term: UInt64
        let leases: Bool
        /// `Lease.since` of its last lease; nil before the first.
        var since: UInt64?
    }

    private var writer: Writer?
    /// The end of validity of cached state on the clock of `LeaseTerms.now`; 0 when it is not valid.
    package private(set) var validUntil: BusClock.Milliseconds = 0

    /// The validity for a single gateway: it gets each invalidation with the reply that it passes on.
    package static var always: BusClock.Milliseconds { .max }

    package init() {}

    /// Whether the writer grants leases, which must be requested.
    package var asks: Bool { writer?.leases ?? false }

    /// Whether a term is the current writer's.
    package func isOf(_ term: UInt64) -> Bool { writer?.term == term }

    /// A writer sent a hello.
    package mutating func hello(_ hello: Hello, now: BusClock.Milliseconds) -> Change {
        guard hello.writer else { return .none }
        guard hello.term != 0 else {
            // The writer has an earlier release, which supports a single gateway.
            if writer == nil { validUntil = Self.always }
            return .none
        }
        guard hello.term != writer?.term else {
            if hello.leases, writer?.leases == false { beginsLeases(now) }
            return .none
        }
        let isFirst = writer == nil && validUntil == 0
        let isBelieved = now < validUntil
        writer = Writer(term: hello.term, leases: hello.leases)
        guard hello.leases else {
            validUntil = Self.always
            return isFirst ? .none : .forget(isGap: !isBelieved)
        }
        // The previous writer's lease may continue: the new writer ends no round before that lease expires.
        if validUntil == Self.always { validUntil = 0 }
        // The previous writer may have committed a last change without sending its invalidation.
        return isFirst ? .none : .forget(isGap: false)
    }

    /// Another gateway may be added soon. The writer connects to it only after this gateway has requested a lease, or
    /// after a lease that starts now would have expired (`BusEndpoint`).
    private mutating func beginsLeases(_ now: BusClock.Milliseconds) {
        writer = writer.map { Writer(term: $0.term, leases: true) }
        validUntil = now + LeaseTerms.length
    }

    /// A writer granted a lease.
    /// - Parameter askedAt: the time of the request, on the clock of `LeaseTerms.now`.
    package mutating func granted(
        _ lease: Lease, askedAt: BusClock.Milliseconds, now: BusClock.Milliseconds
    ) -> Change {
        guard let known = writer, known.leases, known.term == lease.term, askedAt <= now else { return .none }
        let isSame = known.since == lease.since
        // With the same term, another `since` means that a round did not wait for this gateway. With another term, no
        // round ended while the previous writer's lease ran.
        let isGap = !isSame && (known.since != nil || now >= validUntil)
        writer?.since = lease.since
        validUntil = max(validUntil, askedAt + LeaseTerms.length)
        return isGap ? .forget(isGap: true) : .none
    }
}

/// A gateway's lease, readable from any thread.
public final class CacheLease: Sendable {
    private let end = Atomic<BusClock.Milliseconds>(0)

    /// A lease that has not started.
    public init() {}

    /// A lease without end, for a single gateway.
    public static var endless: CacheLease {
        let lease = CacheLease()
        lease.set(LeaseBook.always)
        return lease
    }

    /// Whether cached state is valid now.
    public var isValid: Bool {
        let end = end.load(ordering: .acquiring)
        return end == LeaseBook.always || LeaseTerms.now < end
    }

    func set(_ end: BusClock.Milliseconds) { self.end.store(end, ordering: .releasing) }
}
