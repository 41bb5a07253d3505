/// The moments at which password-reset requests are answered when a trigger takes part. The trigger runs only for
/// addresses of accounts, so an undelayed response would reveal by its timing which addresses exist.
package enum ResetDelay {
    /// Longer than a database look-up, and too short to bother a user.
    private static let step = Duration.milliseconds(500)

    /// The delay of a response: up to the next whole step.
    /// - Parameter elapsed: the time since the request arrived.
    package static func pause(after elapsed: Duration) -> Duration {
        let steps = (elapsed / step).rounded(.down) + 1
        return step * steps - elapsed
    }
}
