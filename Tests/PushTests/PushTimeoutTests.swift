import PushService
import Testing

/// The effects of a timeout of a push's query.
@Suite struct PushTimeoutTests {
    private let start = ContinuousClock.now

    private func next(
        _ timeouts: inout PushTimeouts, of push: String = "a", after time: Duration
    ) -> PushTimeouts.Decision {
        timeouts.timedOut(push, at: start + time)
    }

    @Test func theFirstTimeoutSwitchesToRanges() {
        var timeouts = PushTimeouts()
        #expect(!timeouts.isScanning("a"))
        #expect(next(&timeouts, after: .zero) == .scan)
        #expect(timeouts.isScanning("a"))
        #expect(!timeouts.isScanning("b"))
    }

    @Test func aBusyDatabaseCancelsNoPush() {
        var timeouts = PushTimeouts()
        #expect(next(&timeouts, after: .zero) == .scan)
        for second in stride(from: 0, to: 800, by: 10) {
            #expect(next(&timeouts, after: .seconds(second)) == .retry)
        }
        timeouts.succeeded("a")
        #expect(timeouts.isScanning("a"), "The condition still has no index.")
        #expect(next(&timeouts, after: .seconds(5000)) == .retry, "The time counts from the last success.")
    }

    @Test func aConditionThatIsAlwaysTooSlowIsGivenUp() {
        var timeouts = PushTimeouts()
        #expect(next(&timeouts, after: .zero) == .scan)
        #expect(next(&timeouts, after: .zero) == .retry)
        #expect(next(&timeouts, of: "b", after: .zero) == .scan)
        #expect(next(&timeouts, after: PushTimeouts.givenUpAfter) == .giveUp)
        #expect(next(&timeouts, of: "b", after: PushTimeouts.givenUpAfter) == .retry, "Each push has its own time.")
    }
}
