/// What was waited for did not come.
package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Polls until the condition holds.
/// - Throws: `NeverHappened` when the time is over.
package func eventually(
    _ what: String, within limit: Duration = .seconds(30), _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while !(try await condition()) {
        guard ContinuousClock.now < end else { throw NeverHappened("Not within \(limit): \(what).") }
        try await Task.sleep(for: .milliseconds(50))
    }
}
