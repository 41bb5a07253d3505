import Messages
import Synchronization

/// A gateway's right to believe what it keeps of one service, without I/O: who writes there now, until when its lease
/// runs, and what must be forgotten because it may have been missed.
package struct LeaseBook {
    /// The meaning of an event for what is kept.
    package enum Change: Equatable {
        case none
        /// All must be forgotten, before `validUntil` counts.
        /// - isGap: something may have been forgotten, answered and acted on without this gateway. Else it only may
        ///   not have been told of what nobody was answered for.
        case forget(isGap: Bool)
    }

    private struct Writer {
        let term: UInt64
        let leases: Bool
        /// Of its last lease; nil before the first.
        var since: UInt64?
    }

    private var writer: Writer?
    /// The time of `LeaseTerms.now` until which what is kept may be believed; 0 when nothing may be.
    package private(set) var validUntil: BusClock.Milliseconds = 0

    /// What a gateway believes that is the only one: its copy learns of each change by the reply that it passes on.
    package static var always: BusClock.Milliseconds { .max }

    package init() {}

    /// Whether the writer gives leases, which must be asked for.
    package var asks: Bool { writer?.leases ?? false }

    /// Whether a term is that of the writer.
    package func isOf(_ term: UInt64) -> Bool { writer?.term == term }

    /// A writer says hello.
    package mutating func hello(_ hello: Hello, now: BusClock.Milliseconds) -> Change {
        guard hello.writer else { return .none }
        guard hello.term != 0 else {
            // Of an earlier release, which knows one gateway.
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
        // The lease of the one before may run on: the new one ends no round before it is over.
        if validUntil == Self.always { validUntil = 0 }
        // The one before may have changed something in its last moment and told nobody.
        return isFirst ? .none : .forget(isGap: false)
    }

    /// There may be another gateway soon. The writer dials none before this one has asked for a lease, or before a
    /// lease from now on would be over (`BusEndpoint`).
    private mutating func beginsLeases(_ now: BusClock.Milliseconds) {
        writer = writer.map { Writer(term: $0.term, leases: true) }
        validUntil = now + LeaseTerms.length
    }

    /// A writer gives a lease.
    /// - Parameter askedAt: when it was asked for, by `LeaseTerms.now`.
    package mutating func granted(
        _ lease: Lease, askedAt: BusClock.Milliseconds, now: BusClock.Milliseconds
    ) -> Change {
        guard let known = writer, known.leases, known.term == lease.term, askedAt <= now else { return .none }
        let isSame = known.since == lease.since
        // Another number in one term: there was a round that did not wait. Another term: none has ended while the
        // lease of the one before ran.
        let isGap = !isSame && (known.since != nil || now >= validUntil)
        writer?.since = lease.since
        validUntil = max(validUntil, askedAt + LeaseTerms.length)
        return isGap ? .forget(isGap: true) : .none
    }
}

/// A gateway's lease as others see it, from any thread.
public final class KnowledgeLease: Sendable {
    private let end = Atomic<BusClock.Milliseconds>(0)

    /// A lease that has not begun.
    public init() {}

    /// A lease without end, for a gateway that is the only one.
    public static var endless: KnowledgeLease {
        let lease = KnowledgeLease()
        lease.set(LeaseBook.always)
        return lease
    }

    /// Whether what is kept may be believed at this moment.
    public var isValid: Bool {
        let end = end.load(ordering: .acquiring)
        return end == LeaseBook.always || LeaseTerms.now < end
    }

    func set(_ end: BusClock.Milliseconds) { self.end.store(end, ordering: .releasing) }
}
