/// Exponential backoff: the pause doubles after each failure in a row, up to a maximum.
public struct Backoff: Sendable, Equatable {
    /// The pause after the first failure.
    public let first: Duration
    /// The longest pause, before jitter.
    public let longest: Duration

    /// - Parameter longest: raised to `first` when it is shorter.
    public init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = max(first, longest)
    }

    /// The pause before the next attempt.
    /// - Parameters:
    ///   - failures: failed attempts in a row, from 1.
    ///   - jitter: 0 to 1; shortens (0) or lengthens (1) the pause by up to a fifth, so that clients that failed
    ///     together do not retry together. 0.5 is no change.
    public func pause(afterFailures failures: Int, jitter: Double = 0.5) -> Duration {
        let doubled = first * (1 << (min(max(failures, 1), 31) - 1))
        let permille = Int64(800 + 400 * min(max(jitter, 0), 1))
        return min(doubled, longest) * permille / 1000
    }
}
