import MessageBus
import Messages
import Testing

/// How long a gateway trusts its cached data, and which data it drops before it trusts the cache again.
@Suite struct LeaseBookTests {
    private static func hello(_ term: UInt64, leases: Bool = true, writer: Bool = true) -> Hello {
        .with {
            $0.service = "users"
            $0.writer = writer
            $0.term = term
            $0.leases = leases
        }
    }

    private static func lease(_ term: UInt64, _ since: UInt64) -> Lease {
        .with {
            $0.term = term
            $0.since = since
        }
    }

    @Test func theOnlyGatewayNeedsNoLease() {
        var book = LeaseBook()
        let first = book.hello(Self.hello(1, leases: false), now: 10)
        #expect(first == .none)
        #expect(book.validUntil == LeaseBook.always)
        #expect(!book.asks)
        // The writer may have been killed between a change and its reply.
        let next = book.hello(Self.hello(2, leases: false), now: 20)
        #expect(next == .forget(isGap: false))
        #expect(book.validUntil == LeaseBook.always)
    }

    @Test func aReaderSaysNothingOfLeases() {
        var book = LeaseBook()
        let change = book.hello(Self.hello(0, leases: false, writer: false), now: 10)
        #expect(change == .none)
        #expect(book.validUntil == 0)
    }

    @Test func aLeaseRunsFromTheMomentOfTheQuestion() {
        var book = LeaseBook()
        _ = book.hello(Self.hello(1), now: 10)
        #expect(book.validUntil == 0)
        let change = book.granted(Self.lease(1, 0), askedAt: 20, now: 900)
        #expect(change == .forget(isGap: true), "Nobody told it of anything before.")
        #expect(book.validUntil == 20 + LeaseTerms.length)
        let again = book.granted(Self.lease(1, 0), askedAt: 500, now: 950)
        #expect(again == .none)
        #expect(book.validUntil == 500 + LeaseTerms.length)
    }

    /// An answer that was buffered while the process was stopped grants nothing.
    @Test func anOldAnswerGivesNothing() {
        var book = LeaseBook()
        _ = book.hello(Self.hello(1), now: 10)
        _ = book.granted(Self.lease(1, 0), askedAt: 20, now: 60_000)
        #expect(book.validUntil < 60_000)
    }

    @Test func whatWasMissedIsForgotten() {
        var book = LeaseBook()
        _ = book.hello(Self.hello(1), now: 10)
        _ = book.granted(Self.lease(1, 0), askedAt: 20, now: 21)
        let same = book.granted(Self.lease(1, 0), askedAt: 9000, now: 9001)
        #expect(same == .none, "A pause in which nothing was forgotten.")
        let other = book.granted(Self.lease(1, 4), askedAt: 20_000, now: 20_001)
        #expect(other == .forget(isGap: true))
    }

    /// A new writer ends no round while a lease of the previous one may be valid.
    @Test func anotherWriterIsAGapOnlyWithoutALease() {
        var book = LeaseBook()
        _ = book.hello(Self.hello(1), now: 10)
        _ = book.granted(Self.lease(1, 0), askedAt: 20, now: 21)
        let met = book.hello(Self.hello(2), now: 1000)
        #expect(met == .forget(isGap: false), "The one before may have told nobody of its last change.")
        let late = book.granted(Self.lease(1, 0), askedAt: 900, now: 1001)
        #expect(late == .none)
        #expect(book.validUntil == 20 + LeaseTerms.length, "The one before has no say any more.")
        let inTime = book.granted(Self.lease(2, 0), askedAt: 1002, now: 1003)
        #expect(inTime == .none)
        _ = book.hello(Self.hello(3), now: 60_000)
        let tooLate = book.granted(Self.lease(3, 0), askedAt: 60_001, now: 60_002)
        #expect(tooLate == .forget(isGap: true))
    }

    /// The writer waits for the first lease request before it connects to another gateway, longer than this period.
    @Test func theOnlyGatewayBecomesOneOfSeveral() {
        var book = LeaseBook()
        _ = book.hello(Self.hello(1, leases: false), now: 10)
        _ = book.hello(Self.hello(1), now: 1000)
        #expect(book.asks)
        #expect(book.validUntil == 1000 + LeaseTerms.length)
        let granted = book.granted(Self.lease(1, 3), askedAt: 1001, now: 1002)
        #expect(granted == .none)
    }

    @Test func aWriterOfAnEarlierReleaseKnowsOneGateway() {
        var book = LeaseBook()
        _ = book.hello(Self.hello(0, leases: false), now: 10)
        #expect(book.validUntil == LeaseBook.always)
        let next = book.hello(Self.hello(1), now: 20)
        #expect(next == .forget(isGap: false))
        #expect(book.validUntil == 0)
    }
}
