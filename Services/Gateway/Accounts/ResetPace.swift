/// The moments at which requests for a new password are answered where a trigger has a say in them. It is called for
/// addresses of accounts alone, so that an answer sent as soon as it is there would tell by its time whose they are.
package enum ResetPace {
    /// Longer than a look into a database takes, and shorter than somebody minds.
    private static let step = Duration.milliseconds(500)

    /// How long an answer waits: until the next whole step.
    /// - Parameter elapsed: since the request came.
    package static func pause(after elapsed: Duration) -> Duration {
        let steps = (elapsed / step).rounded(.down) + 1
        return step * steps - elapsed
    }
}
