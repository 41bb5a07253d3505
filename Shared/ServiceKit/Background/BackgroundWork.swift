import Logging
import ParseProtocol

/// Recurring work of a service. It runs in rounds, one after the other; a wake-up or the end of the interval starts a
/// round.
///
/// A failed round is logged and retried with a growing backoff (`BackgroundPace`). A wake-up during a round starts
/// another one right after it; several wake-ups count as one. Cancelling the task ends every pause at once, but a
/// running round finishes.
public final class BackgroundWork: Sendable {
    /// The outcome of a round.
    public enum Round: Sendable {
        /// Nothing to do until the next wake-up or the end of the interval.
        case idle
        /// Nothing to do for this duration, unless a wake-up comes first; capped at the interval. Overdue work that
        /// could not start is checked again after a short pause.
        case due(in: Duration)
        /// There is more to do: the next round follows at once.
        case more
        /// There will never be more to do; the work ends.
        case finished

        /// - Parameter moment: the wall-clock time at which the next item is due; nil when nothing is planned.
        public static func due(at moment: Timestamp?) -> Round {
            guard let moment else { return .idle }
            return .due(in: .milliseconds(moment.milliseconds - Timestamp.now.milliseconds))
        }
    }

    /// The work's name in the log: `outbox`, `push.send`.
    public let name: String
    private let interval: Duration
    private let problem: Logger.Message
    private let logger: Logger
    private let wakeUp: WakeUp
    private let round: @Sendable () async throws -> Round

    /// - Parameters:
    ///   - interval: the longest pause after a successful round.
    ///   - problem: the log message for a failed round.
    ///   - wakeUp: wakes the work; passed in when it is used before the work exists.
    public init(
        _ name: String, every interval: Duration, problem: Logger.Message, logger: Logger, wakeUp: WakeUp = WakeUp(),
        round: @escaping @Sendable () async throws -> Round
    ) {
        self.name = name
        self.interval = interval
        self.problem = problem
        self.logger = logger
        self.wakeUp = wakeUp
        self.round = round
    }

    /// Requests another round.
    public func wake() { wakeUp.ring() }

    /// Runs rounds until the work is finished or the task is cancelled.
    public func run() async {
        var pace = BackgroundPace(interval: interval)
        while !Task.isCancelled {
            // This round covers all wake-ups so far.
            wakeUp.clear()
            let outcome = await outcome()
            switch pace.next(after: outcome) {
            case .again: continue
            case .wait(let limit): await wakeUp.wait(atMost: limit)
            // Wake-ups do not shorten a backoff: they come as fast as requests, and the disk or the peer needs the
            // pause.
            case .backOff(let pause): try? await Task.sleep(for: pause)
            case .end: return
            }
        }
    }

    private func outcome() async -> BackgroundPace.Outcome {
        do {
            switch try await round() {
            case .idle: return .idle
            case .due(let pause): return .due(in: pause)
            case .more: return .more
            case .finished: return .finished
            }
        } catch {
            // A cancelled round is not an error.
            if !Task.isCancelled { logger.error(problem, metadata: ["work.name": "\(name)", "error": "\(error)"]) }
            return .failed
        }
    }
}

/// Decides when the next round of a background work starts. Has no clock.
package struct BackgroundPace: Sendable {
    package enum Outcome: Sendable, Hashable {
        case idle
        case due(in: Duration)
        case more, finished, failed
    }

    package enum Next: Sendable, Hashable {
        case again
        /// A wake-up ends the pause.
        case wait(Duration)
        /// Only the end of the pause or cancellation ends it.
        case backOff(Duration)
        case end
    }

    private let interval: Duration
    private var failures = 0

    package init(interval: Duration) { self.interval = interval }

    /// The shortest pause before planned work: items that are due in quick succession share a round.
    private static let duePauseMin = Duration.milliseconds(50)
    /// Pause before overdue work is checked again.
    private static let overduePause = Duration.milliseconds(250)

    /// The first pause after a failure: the interval, clamped to 250 ms to 1 s.
    private var backOffMin: Duration { min(max(interval, .milliseconds(250)), .seconds(1)) }
    /// The longest pause: the interval, clamped to 5 s to five minutes. The lower bound of 5 s ensures that a repaired
    /// disk is soon used.
    private var backOffMax: Duration { min(max(interval, .seconds(5)), .seconds(300)) }

    package mutating func next(after outcome: Outcome) -> Next {
        switch outcome {
        case .failed:
            failures += 1
            return .backOff(Backoff(first: backOffMin, longest: backOffMax).pause(afterFailures: failures))
        case .idle, .due, .more, .finished:
            failures = 0
            switch outcome {
            case .more: return .again
            case .finished: return .end
            case .due(let pause):
                return .wait(min(pause > .zero ? max(pause, Self.duePauseMin) : Self.overduePause, interval))
            default: return .wait(interval)
            }
        }
    }
}
