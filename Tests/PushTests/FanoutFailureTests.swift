import ParseProtocol
import PushService
import Testing

/// The effects of a failure of a push's query.
@Suite struct FanoutFailureTests {
    private let start = ContinuousClock.now

    private func next(
        _ failures: inout FanoutFailures, of push: String = "a", _ error: any Error = ParseError(.timeout, ""),
        after time: Duration
    ) -> FanoutFailures.Decision {
        failures.failed(push, error, at: start + time)
    }

    @Test func theFirstTimeoutSwitchesToRanges() {
        var failures = FanoutFailures()
        #expect(!failures.isScanning("a"))
        #expect(next(&failures, after: .zero) == .scan)
        #expect(failures.isScanning("a"))
        #expect(!failures.isScanning("b"))
    }

    @Test func aBusyDatabaseCancelsNoPush() {
        var failures = FanoutFailures()
        #expect(next(&failures, after: .zero) == .scan)
        for second in stride(from: 0, to: 800, by: 10) {
            #expect(next(&failures, after: .seconds(second)) == .retry)
        }
        failures.succeeded("a")
        #expect(failures.isScanning("a"), "The condition still has no index.")
        #expect(next(&failures, after: .seconds(5000)) == .retry, "The time counts from the last success.")
    }

    @Test func aConditionThatIsAlwaysTooSlowIsGivenUp() {
        var failures = FanoutFailures()
        #expect(next(&failures, after: .zero) == .scan)
        #expect(next(&failures, after: .zero) == .retry)
        #expect(next(&failures, of: "b", after: .zero) == .scan)
        #expect(next(&failures, after: FanoutFailures.givenUpAfter) == .giveUp)
        #expect(next(&failures, of: "b", after: FanoutFailures.givenUpAfter) == .retry, "Each push has its own time.")
    }

    /// Among them: a field of the query has another type now, and a class of it is gone.
    @Test(
        arguments: [
            .invalidQuery, .invalidKeyName, .invalidJSON, .incorrectType, .operationForbidden, .objectNotFound,
        ] as [ParseError.Code])
    func aQueryThatFailsForGoodIsGivenUpAtOnce(code: ParseError.Code) {
        var failures = FanoutFailures()
        #expect(next(&failures, ParseError(code, ""), after: .zero) == .giveUp)
    }

    @Test(
        arguments: [
            ParseError(.serviceUnavailable, ""), ParseError(.requestLimitExceeded, ""), ParseError.internalError,
            CancellationError(),
        ] as [any Error])
    func aPassingFailureCancelsNoPush(error: any Error) {
        var failures = FanoutFailures()
        for _ in 0..<2 {
            #expect(next(&failures, error, after: FanoutFailures.givenUpAfter * 2) == .retry)
        }
        #expect(!failures.isScanning("a"))
    }
}
