/// The error that what was waited for did not come.
package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Polls until the condition holds.
///
/// Of the time between two looks at most five seconds count: when a machine stood still for a minute, nothing is late,
/// and a condition that takes long to tell still comes to an end.
/// - Throws: `NeverHappened` when the time is over.
package func eventually(
    _ what: @autoclosure () -> String, within limit: Duration = .seconds(30), _ condition: () async throws -> Bool
) async throws {
    let pause = Duration.milliseconds(50)
    var (waited, last) = (Duration.zero, ContinuousClock.now)
    while !(try await condition()) {
        guard waited < limit else { throw NeverHappened("Not within \(limit): \(what()).") }
        try await Task.sleep(for: pause)
        let now = ContinuousClock.now
        waited += min(now - last, .seconds(5))
        last = now
    }
}
