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
        sample.events = mails.mapValues { SuiteSample.Events(figure: .mailsFailed, count: $0) }
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

    @Test func aRestartedProcessCountsFromZeroAndANewOneWhole() {
        let before = Self.sample(mails: ["mail-1": 5])
        let after = Self.sample(failed: 2, mails: ["mail-1": 2, "mail-2": 4])
        #expect(after.row(since: before).values == [.failed: 2, .mailsFailed: 6, .outbox: 0])
    }

    /// The gateway may have started long after the services.
    @Test func eventsBeforeTheFirstSampleAreOfNoMinute() {
        let first = Self.sample(buckets: [2], failed: 1, mails: ["mail-1": 500])
        #expect(first.row(since: nil) == FigureRow(times: [0: 2], values: [.failed: 1, .outbox: 0]))
    }
}
