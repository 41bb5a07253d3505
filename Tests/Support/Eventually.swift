/// The error that a condition did not become true in time.
package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Polls until the condition holds.
///
/// At most five seconds count between two polls. A machine that stalls for a minute therefore causes no timeout, and a
/// condition that is slow to evaluate still ends.
/// - Parameter limit: the time on an idle machine. Three times as much is allowed.
/// - Throws: `NeverHappened` when the time is over.
package func eventually(
    _ what: @autoclosure () -> String, within limit: Duration = .seconds(30), _ condition: () async throws -> Bool
) async throws {
    let pause = Duration.milliseconds(50)
    var (waited, last) = (Duration.zero, ContinuousClock.now)
    while !(try await condition()) {
        guard waited < limit * 3 else { throw NeverHappened("Not within \(limit): \(what()).") }
        try await Task.sleep(for: pause)
        let now = ContinuousClock.now
        waited += min(now - last, .seconds(5))
        last = now
    }
}
