import ParseProtocol

/// The decision about a mail after an attempt to send it. It only decides; `MailSender` acts.
package struct RetrySchedule: Sendable {
    /// The pause after the first failure; each further one doubles it.
    package let first: Duration
    /// The longest pause.
    package let longest: Duration
    /// After so long in the queue a failing mail is given up.
    package let giveUpAfter: Duration

    package init(first: Duration, longest: Duration = .seconds(3600), giveUpAfter: Duration) {
        self.first = first
        self.longest = max(first, longest)
        self.giveUpAfter = giveUpAfter
    }

    package enum Step: Sendable, Equatable {
        case sent
        case again(after: Duration, problem: String)
        /// The address is put on the suppression list.
        case bounced(problem: String)
        case failed(problem: String)
        /// Not tried, because the address is on the suppression list.
        case suppressed
    }

    /// - Parameters:
    ///   - attempts: including this one, from 1.
    ///   - age: time since the mail was queued.
    ///   - outage: when the problem affects all mails, how long all of them wait.
    ///   - jitter: 0 to 1, at random, so that mails which failed together do not come back together.
    package func step(
        after problem: MailProblem?, attempts: Int, age: Duration, outage: Duration? = nil, jitter: Double
    ) -> Step {
        guard let problem else { return .sent }
        if problem.kind == .recipient { return .bounced(problem: problem.text) }
        guard age < giveUpAfter else { return .failed(problem: "Given up. \(problem.text)") }
        return .again(
            after: outage ?? problem.pause ?? pause(attempts: attempts, jitter: jitter), problem: problem.text)
    }

    /// Doubles, with a fifth more or less.
    package func pause(attempts: Int, jitter: Double) -> Duration {
        let doubled = first * (1 << (min(max(attempts, 1), 21) - 1))
        let permille = Int64(800 + 400 * min(max(jitter, 0), 1))
        return min(doubled, longest) * permille / 1000
    }
}
