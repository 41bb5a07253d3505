import ParseProtocol
import ServiceKit

/// Decides the next step after an attempt to send a mail. No I/O; `MailSender` acts.
package struct RetrySchedule: Sendable {
    /// The delay after the first failure; each further failure doubles it.
    package let first: Duration
    /// Limits the doubling. Jitter, an outage and a delay that the server asks for may exceed it.
    package let longest: Duration
    /// A failing mail is given up after this time in the queue.
    package let giveUpAfter: Duration

    package init(first: Duration, longest: Duration = .seconds(3600), giveUpAfter: Duration) {
        self.first = first
        self.longest = max(first, longest)
        self.giveUpAfter = giveUpAfter
    }

    package enum Step: Sendable, Equatable {
        case sent
        case again(after: Duration, problem: String)
        /// The address is added to the suppression list.
        case bounced(problem: String)
        case failed(problem: String)
        /// Not sent, because the address is on the suppression list.
        case suppressed

        /// The name of the outcome in counts of mails; nil for a mail that stays in the queue.
        var outcome: String? {
            switch self {
            case .sent: "sent"
            case .again: nil
            case .bounced: "bounced"
            case .failed: "failed"
            case .suppressed: "suppressed"
            }
        }
    }

    /// - Parameters:
    ///   - attempts: including this one, from 1.
    ///   - age: time since the mail was queued.
    ///   - outage: how long all mails wait, when the problem affects all of them.
    ///   - jitter: random, 0 to 1, so that mails that failed together do not retry together.
    package func step(
        after problem: MailProblem?, attempts: Int, age: Duration, outage: Duration? = nil, jitter: Double
    ) -> Step {
        guard let problem else { return .sent }
        if problem.kind == .recipient { return .bounced(problem: problem.text) }
        guard age < giveUpAfter else { return .failed(problem: "Given up. \(problem.text)") }
        return .again(
            after: outage ?? problem.retryAfter ?? pause(attempts: attempts, jitter: jitter), problem: problem.text)
    }

    /// Doubles per attempt, with up to a fifth more or less.
    package func pause(attempts: Int, jitter: Double) -> Duration {
        Backoff(first: first, longest: longest).pause(afterFailures: attempts, jitter: jitter)
    }
}
