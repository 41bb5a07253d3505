import Logging
import ServiceKit
import Synchronization
import Testing

/// A service's background work: when its rounds start, and that it ends on cancellation.
@Suite struct BackgroundWorkTests {
    private struct Broken: Error {}

    /// The rounds that started, with their times.
    private final class Rounds: Sendable {
        private let moments = Mutex<[ContinuousClock.Instant]>([])
        private let stream: AsyncStream<Int>
        private let continuation: AsyncStream<Int>.Continuation

        init() { (stream, continuation) = AsyncStream.makeStream() }

        /// Records a round and returns its number, from 1.
        @discardableResult
        func began() -> Int {
            let count = moments.withLock { moments -> Int in
                moments.append(.now)
                return moments.count
            }
            continuation.yield(count)
            return count
        }

        /// Waits until that many rounds have started.
        func reach(_ wanted: Int) async {
            for await count in stream where count >= wanted { return }
        }

        var all: [ContinuousClock.Instant] { moments.withLock(\.self) }
        var pauses: [Duration] { zip(all, all.dropFirst()).map { $1 - $0 } }
    }

    private static func work(
        every interval: Duration, _ round: @escaping @Sendable () async throws -> BackgroundWork.Round
    ) -> BackgroundWork {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return BackgroundWork("test", every: interval, problem: "It failed.", logger: logger, round: round)
    }

    // MARK: - The decision

    @Test func aRoundThatWentWellIsFollowedByTheInterval() {
        var pace = BackgroundPace(interval: .seconds(7))
        #expect(pace.next(after: .idle) == .wait(.seconds(7)))
        #expect(pace.next(after: .more) == .again)
        #expect(pace.next(after: .finished) == .end)
    }

    @Test func plannedPausesAreLimited() {
        var pace = BackgroundPace(interval: .seconds(10))
        #expect(pace.next(after: .due(in: .seconds(3))) == .wait(.seconds(3)))
        #expect(pace.next(after: .due(in: .seconds(3600))) == .wait(.seconds(10)))
        #expect(pace.next(after: .due(in: .milliseconds(100))) == .wait(.milliseconds(100)))
        #expect(pace.next(after: .due(in: .milliseconds(1))) == .wait(.milliseconds(50)))
        // Overdue work that could not start does not cause a busy loop.
        for overdue in [Duration.zero, .milliseconds(-5), .seconds(-86_400)] {
            #expect(pace.next(after: .due(in: overdue)) == .wait(.milliseconds(250)))
        }
        var short = BackgroundPace(interval: .milliseconds(60))
        #expect(short.next(after: .due(in: .zero)) == .wait(.milliseconds(60)))
    }

    @Test func thePauseAfterAnErrorGrowsAndIsBounded() {
        var pace = BackgroundPace(interval: .milliseconds(10))
        let pauses = (0..<70).map { _ in pace.next(after: .failed) }
        let growing: [BackgroundPace.Next] = [250, 500, 1000, 2000, 4000].map { .backOff(.milliseconds($0)) }
        #expect(Array(pauses.prefix(5)) == growing)
        #expect(pauses.dropFirst(5).allSatisfy { $0 == .backOff(.seconds(5)) })
        // After a success, the next error counts as the first.
        #expect(pace.next(after: .idle) == .wait(.milliseconds(10)))
        #expect(pace.next(after: .failed) == .backOff(.milliseconds(250)))
    }

    @Test func rareWorkIsRetriedBeforeItsInterval() {
        var pace = BackgroundPace(interval: .seconds(3600))
        #expect(pace.next(after: .failed) == .backOff(.seconds(1)))
        let pauses = (0..<20).map { _ in pace.next(after: .failed) }
        #expect(pauses.last == .backOff(.seconds(300)))
    }

    // MARK: - The work

    @Test(.timeLimit(.minutes(10))) func aWakeUpBeginsARoundAtOnce() async {
        let rounds = Rounds()
        let work = Self.work(every: .seconds(3600)) {
            rounds.began()
            return .idle
        }
        let task = Task { await work.run() }
        for wanted in 1...20 {
            await rounds.reach(wanted)
            // The interval is an hour, so the wake-up causes the next round.
            work.wake()
        }
        task.cancel()
        await task.value
    }

    @Test(.timeLimit(.minutes(10))) func aWakeUpDuringARoundBeginsAnother() async {
        let rounds = Rounds()
        let wakeUp = WakeUp()
        let work = BackgroundWork(
            "test", every: .seconds(3600), problem: "It failed.", logger: Logger(label: "test"), wakeUp: wakeUp
        ) {
            let number = rounds.began()
            // Two wake-ups cause one round.
            if number < 10 {
                wakeUp.ring()
                wakeUp.ring()
            }
            return number == 10 ? .finished : .idle
        }
        await work.run()
        #expect(rounds.all.count == 10)
    }

    @Test(.timeLimit(.minutes(10))) func withoutAWakeUpItWaitsItsInterval() async {
        let rounds = Rounds()
        let interval = Duration.milliseconds(60)
        let work = Self.work(every: interval) { rounds.began() == 4 ? .finished : .idle }
        await work.run()
        #expect(rounds.pauses.count == 3)
        #expect(rounds.pauses.allSatisfy { $0 >= interval }, "\(rounds.pauses)")
    }

    @Test(.timeLimit(.minutes(10))) func afterAnErrorItWaitsThoughItIsWoken() async {
        let rounds = Rounds()
        let wakeUp = WakeUp()
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let work = BackgroundWork(
            "test", every: .milliseconds(1), problem: "It failed.", logger: logger, wakeUp: wakeUp
        ) {
            wakeUp.ring()
            guard rounds.began() == 3 else { throw Broken() }
            return .finished
        }
        await work.run()
        #expect(rounds.pauses.count == 2)
        #expect(rounds.pauses.first ?? .zero >= .milliseconds(250), "\(rounds.pauses)")
        #expect(rounds.pauses.last ?? .zero >= .milliseconds(500), "\(rounds.pauses)")
    }

    @Test(.timeLimit(.minutes(10))) func moreIsDoneWithoutAPause() async {
        let rounds = Rounds()
        await Self.work(every: .seconds(3600)) { rounds.began() == 1000 ? .finished : .more }.run()
        #expect(rounds.all.count == 1000)
    }

    /// Cancelled while it waits an hour, backs off, works, or has not started.
    @Test(.timeLimit(.minutes(10)), arguments: ["waits", "fails", "works", "not begun"])
    func cancellationEndsIt(when: String) async {
        let rounds = Rounds()
        let work = Self.work(every: .seconds(3600)) {
            rounds.began()
            if when == "fails" { throw Broken() }
            await Task.yield()
            return when == "works" ? .more : .idle
        }
        let task = Task {
            if when == "not begun" { withUnsafeCurrentTask { $0?.cancel() } }
            await work.run()
        }
        if when != "not begun" { await rounds.reach(1) }
        task.cancel()
        // If it did not end, the time limit fails the test.
        await task.value
        #expect(rounds.all.isEmpty == (when == "not begun"))
    }

    // MARK: - The group

    @Test(.timeLimit(.minutes(10))) func aStoppedGroupEndsWhatItBeganAndBeginsNoMore() async {
        let group = BackgroundGroup()
        let rounds = Rounds()
        for _ in 0..<3 {
            let work = Self.work(every: .seconds(3600)) {
                rounds.began()
                return .idle
            }
            let hasBegun = group.begin { await work.run() }
            #expect(hasBegun)
        }
        await rounds.reach(3)
        await group.stop(within: .seconds(3600))
        let hasBegun = group.begin { Issue.record("It is stopped.") }
        #expect(!hasBegun)
    }

    /// Work that ignores cancellation is awaited up to the limit, or not at all if ending it loses nothing.
    @Test(.timeLimit(.minutes(10))) func stoppingTakesNoLongerThanItIsGiven() async {
        for (isAwaited, limit) in [(false, Duration.seconds(3600)), (true, .milliseconds(50))] {
            let (end, continuation) = AsyncStream<Void>.makeStream()
            let group = BackgroundGroup()
            group.begin(isAwaited: isAwaited) { await Task.detached { for await _ in end {} }.value }
            await group.stop(within: limit)
            continuation.finish()
        }
    }
}
