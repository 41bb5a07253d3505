/// Decides when the outbox looks for all that is due, without the clock: when the next attempt is, and from time to
/// time. What is added by this process is known without a look.
package struct OutboxLooks {
    /// Between two looks at least.
    package static let pauseMin = Duration.milliseconds(500)
    /// And at most: attempts are due by the wall clock, which may be set forward.
    package static let pauseMax = Duration.seconds(10)

    /// And at most where other processes deliver too, of which one may have died with what it added.
    package static let sharedPauseMax = Duration.seconds(1)

    private let longest: Duration
    private var next: ContinuousClock.Instant

    /// - Parameters:
    ///   - now: the time of the first look, which finds what an earlier process left.
    ///   - longest: the time between two looks at most.
    package init(now: ContinuousClock.Instant, atLeastEvery longest: Duration = pauseMax) {
        next = now
        self.longest = longest
    }

    /// Whether it is time. If so the look has begun: what is put off from now on counts for the one after it.
    package mutating func begins(at now: ContinuousClock.Instant) -> Bool {
        guard now >= next else { return false }
        next = now + longest
        return true
    }

    /// An attempt is put off, or a look has found the next one.
    package mutating func again(in pause: Duration, at now: ContinuousClock.Instant) {
        next = min(next, now + max(pause, Self.pauseMin))
    }

    /// The time until the next look.
    package func pause(at now: ContinuousClock.Instant) -> Duration { max(.zero, next - now) }
}
