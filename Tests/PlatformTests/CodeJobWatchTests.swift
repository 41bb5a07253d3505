import Messages
import Platform
import Testing

/// The decisions about a job of cloud code. No I/O.
@Suite struct CodeJobWatchTests {
    private static func state(_ phase: CodeJobState.Phase, _ message: String = "") -> CodeJobWatch.Answer {
        .state(
            .with {
                $0.phase = phase
                $0.message = message
            })
    }

    @Test func aJobIsBegunAndLookedAtEverMoreRarely() {
        var watch = CodeJobWatch(isFirst: true)
        #expect(watch.start() == .ask(begins: true, after: .zero))
        var pauses: [Duration] = []
        for _ in 0..<8 {
            guard case .ask(false, let pause) = watch.next(after: Self.state(.running)) else {
                Issue.record("It is looked at.")
                return
            }
            pauses.append(pause)
        }
        #expect(pauses.first == .milliseconds(20))
        #expect(pauses.last == .seconds(1))
        #expect(watch.next(after: Self.state(.succeeded, "all")) == .succeeded("all"))
    }

    @Test func aJobThatFailsSaysWhy() {
        var watch = CodeJobWatch(isFirst: true)
        #expect(watch.next(after: Self.state(.failed, "broken")) == .failed("broken"))
        #expect(watch.next(after: .refused("no")) == .failed("no"))
    }

    @Test func anUnstartedJobIsStartedLater() {
        var watch = CodeJobWatch(isFirst: true)
        #expect(watch.next(after: .notCarriedOut) == .ask(begins: true, after: .seconds(1)))
    }

    @Test func aPossiblyStartedJobIsNotRestarted() {
        var watch = CodeJobWatch(isFirst: true)
        #expect(watch.next(after: .unknown) == .ask(begins: false, after: .seconds(1)))
        #expect(watch.next(after: .notCarriedOut) == .ask(begins: false, after: .seconds(1)))
        let gone = CodeJobWatch.Step.failed("The process of the cloud code ended before the job did.")
        #expect(watch.next(after: Self.state(.unknown)) == gone)
    }

    @Test func theNextWriterLooksAtWhatTheLastOneBegan() {
        var watch = CodeJobWatch(isFirst: false)
        #expect(watch.start() == .ask(begins: false, after: .zero))
        #expect(watch.next(after: Self.state(.succeeded)) == .succeeded(""))
    }

    @Test func aServiceThatIsAwayForLongEndsIt() {
        var watch = CodeJobWatch(isFirst: true)
        for _ in 1..<CodeJobWatch.awayMax {
            guard case .ask = watch.next(after: .notCarriedOut) else {
                Issue.record("It is tried again.")
                return
            }
        }
        #expect(watch.next(after: .notCarriedOut) == .failed("Cloud code could not be reached."))
    }
}
