/// The decisions about a request to the bucket that brought no good answer, without I/O. Every request may be sent
/// twice: an object's content never changes.
package struct BucketRetry {
    package enum Step: Equatable {
        case again(after: Duration)
        case giveUp
    }

    /// One attempt and two more, which is what a server that is busy for a moment needs.
    package static let attemptsMax = 3
    private static let firstPauseMilliseconds = 200.0
    /// An attempt that has less time is not worth its connection.
    private static let attemptMin = Duration.milliseconds(500)

    private var attempts = 0

    package init() {}

    /// The step after an attempt that failed.
    /// - Parameters:
    ///   - left: of the time that the request has.
    ///   - chance: from 0 to 1; spreads those that failed at once.
    package mutating func next(after trouble: BucketTrouble, left: Duration, chance: Double) -> Step {
        attempts += 1
        guard case .away = trouble, attempts < Self.attemptsMax else { return .giveUp }
        let growth = attempts == 1 ? 1.0 : 4.0
        let pause = Duration.milliseconds(Int64(Self.firstPauseMilliseconds * growth * (0.5 + 0.5 * chance)))
        return left - pause >= Self.attemptMin ? .again(after: pause) : .giveUp
    }
}
