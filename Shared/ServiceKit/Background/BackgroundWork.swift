import Logging
import ParseProtocol

/// A piece of work that a service does by itself: one round after the other, each begun by a wake-up or when the
/// interval is over.
///
/// A round that fails is logged and tried again after a pause that grows (`BackgroundPace`). A wake-up during a round
/// begins another one right after it; wake-ups that come together are one. Cancelling the task ends every pause at
/// once; a round under way ends by itself.
public final class BackgroundWork: Sendable {
    /// The outcome of a round.
    public enum Round: Sendable {
        /// Nothing is left until the next wake-up or the end of the interval.
        case idle
        /// Nothing is left until that time is over, if no wake-up comes first; at most the interval. What is overdue
        /// and could not be begun is looked at again after a moment.
        case due(in: Duration)
        /// There is more: the next round follows at once.
        case more
        /// Nothing will ever be left; the work ends.
        case finished

        /// - Parameter moment: when the next thing is due, by the wall clock; nil when nothing is planned.
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
    ///   - interval: the longest pause after a round that went well.
    ///   - problem: what the log says of a round that failed.
    ///   - wakeUp: what wakes it, for work that others wake before it is made.
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

    /// There is something to do.
    public func wake() { wakeUp.ring() }

    /// Works until it is finished or the task is cancelled.
    public func run() async {
        var pace = BackgroundPace(interval: interval)
        while !Task.isCancelled {
            // What was asked for so far is what this round does.
            wakeUp.clear()
            let outcome = await outcome()
            switch pace.next(after: outcome) {
            case .again: continue
            case .wait(let limit): await wakeUp.wait(atMost: limit)
            // Wake-ups do not shorten it: they come as fast as requests, and the disk or the peer needs the pause.
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
            // A round that was told to end is no problem.
            if !Task.isCancelled { logger.error(problem, metadata: ["work.name": "\(name)", "error": "\(error)"]) }
            return .failed
        }
    }
}

/// The decision when the next round of a background work begins, without the clock.
package struct BackgroundPace: Sendable {
    package enum Outcome: Sendable, Hashable {
        case idle
        case due(in: Duration)
        case more, finished, failed
    }

    package enum Next: Sendable, Hashable {
        case again
        /// A wake-up ends it.
        case wait(Duration)
        /// Nothing but its end ends it.
        case backOff(Duration)
        case end
    }

    private let interval: Duration
    private var failures = 0

    package init(interval: Duration) { self.interval = interval }

    /// Before what is overdue is looked at again.
    private static let overduePause = Duration.milliseconds(250)

    /// The first pause after a failure: the interval, from 250 ms to a second.
    private var backOffMin: Duration { min(max(interval, .milliseconds(250)), .seconds(1)) }
    /// The longest: the interval, from 5 s, so that a disk that works again is soon used, to five minutes.
    private var backOffMax: Duration { min(max(interval, .seconds(5)), .seconds(300)) }

    package mutating func next(after outcome: Outcome) -> Next {
        switch outcome {
        case .failed:
            failures += 1
            // 250 ms doubled eleven times is past the longest pause.
            return .backOff(min(backOffMin * (1 << min(failures - 1, 11)), backOffMax))
        case .idle, .due, .more, .finished:
            failures = 0
            switch outcome {
            case .more: return .again
            case .finished: return .end
            case .due(let pause): return .wait(min(max(pause, Self.overduePause), interval))
            default: return .wait(interval)
            }
        }
    }
}
