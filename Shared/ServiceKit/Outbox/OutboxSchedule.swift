/// Decides when the outbox checks the table for due messages: at the next attempt's time and at regular intervals. Has
/// no clock. Messages added by this process need no check.
package struct OutboxSchedule {
    /// Minimum time between two checks.
    package static let pauseMin = Duration.milliseconds(500)
    /// Maximum time between two checks: attempts are due by the wall clock, which may be set forward.
    package static let pauseMax = Duration.seconds(10)

    /// Maximum where other processes deliver too, because one of them may have died with undelivered messages.
    package static let sharedPauseMax = Duration.seconds(1)

    private let longest: Duration
    private var next: ContinuousClock.Instant

    /// - Parameters:
    ///   - now: the time of the first check, which finds messages of an earlier process.
    ///   - longest: the maximum time between two checks.
    package init(now: ContinuousClock.Instant, atLeastEvery longest: Duration = pauseMax) {
        next = now
        self.longest = longest
    }

    /// Whether a check is due. If so, it counts as begun: later calls of `again` concern the next check.
    package mutating func begins(at now: ContinuousClock.Instant) -> Bool {
        guard now >= next else { return false }
        next = now + longest
        return true
    }

    /// A message was postponed, or a check found the time of the next attempt.
    package mutating func again(in pause: Duration, at now: ContinuousClock.Instant) {
        next = min(next, now + max(pause, Self.pauseMin))
    }

    /// The time until the next check.
    package func pause(at now: ContinuousClock.Instant) -> Duration { max(.zero, next - now) }
}
