import GatewayService
import ProcessKit
import Testing

/// The figures between two samples of counts that run from the start of their process.
@Suite struct SuiteSampleTests {
    private static func sample(
        buckets: [UInt64] = [], failed: UInt64? = nil, mails: [String: Int64] = [:], outbox: Int64 = 0
    ) -> SuiteSample {
        var sample = SuiteSample()
        sample.buckets = buckets
        sample.requests[.failed] = failed
        sample.events = mails.mapValues { ["failed": SuiteSample.Events(figure: .mailsFailed, count: $0)] }
        sample.levels = [.outbox: outbox]
        return sample
    }

    @Test func countsAreThoseOfTheTimeBetween() {
        let before = Self.sample(buckets: [1, 0, 2], failed: 1, mails: ["mail-1": 5, "mail-2": 1], outbox: 9)
        let after = Self.sample(buckets: [1, 3, 4], failed: 4, mails: ["mail-1": 7, "mail-2": 1], outbox: 2)
        #expect(
            after.row(since: before)
                == FigureRow(times: [1: 3, 2: 2], values: [.failed: 3, .mailsFailed: 2, .outbox: 2]))
    }

    @Test func aRestartedProcessCountsFromZero() {
        let before = Self.sample(mails: ["mail-1": 5])
        let after = Self.sample(failed: 2, mails: ["mail-1": 2])
        #expect(after.row(since: before).values == [.failed: 2, .mailsFailed: 2, .outbox: 0])
    }

    @Test func theFirstEventsOfAKnownProcessCount() {
        var before = Self.sample()
        before.events = ["mail-1": [:]]
        #expect(Self.sample(mails: ["mail-1": 4]).row(since: before).values == [.mailsFailed: 4, .outbox: 0])
    }

    /// Its report came too late for a sample, or for all earlier ones.
    @Test func eventsOfAMissingReportAreOfNoMinute() {
        let first = Self.sample(mails: ["mail-1": 500])
        let without = Self.sample().completed(from: first)
        #expect(without.row(since: first).values == [.mailsFailed: 0, .outbox: 0])
        let after = Self.sample(mails: ["mail-1": 503, "mail-2": 90])
        #expect(after.row(since: without).values == [.mailsFailed: 3, .outbox: 0])
        let next = Self.sample(mails: ["mail-1": 503, "mail-2": 91])
        #expect(next.row(since: after.completed(from: without)).values == [.mailsFailed: 1, .outbox: 0])
    }

    /// The gateway may have started long after the services.
    @Test func eventsBeforeTheFirstSampleAreOfNoMinute() {
        let first = Self.sample(buckets: [2], failed: 1, mails: ["mail-1": 500])
        #expect(first.row(since: nil) == FigureRow(times: [0: 2], values: [.failed: 1, .outbox: 0]))
    }
}
