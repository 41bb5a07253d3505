/// Decides whether to retry a failed request to the bucket, without I/O. Every request is idempotent: an object's
/// content never changes.
package struct BucketRetry {
    package enum Step: Equatable {
        case again(after: Duration)
        case giveUp
    }

    /// One attempt and two retries, enough for a server that is briefly busy.
    package static let attemptsMax = 3
    private static let firstPauseMilliseconds = 200.0
    /// An attempt with less time left is not worth a connection.
    private static let attemptMin = Duration.milliseconds(500)

    private var attempts = 0

    package init() {}

    /// The step after a failed attempt.
    /// - Parameters:
    ///   - left: the request's remaining time.
    ///   - chance: from 0 to 1; adds jitter to retries that failed at the same time.
    package mutating func next(after trouble: BucketTrouble, left: Duration, chance: Double) -> Step {
        attempts += 1
        guard case .away = trouble, attempts < Self.attemptsMax else { return .giveUp }
        let growth = attempts == 1 ? 1.0 : 4.0
        let pause = Duration.milliseconds(Int64(Self.firstPauseMilliseconds * growth * (0.5 + 0.5 * chance)))
        return left - pause >= Self.attemptMin ? .again(after: pause) : .giveUp
    }
}
