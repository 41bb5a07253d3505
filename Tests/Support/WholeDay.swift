import ParseProtocol

/// Waits at the end of a day in UTC, so that the day stays the same for the next three minutes.
package func untilDayIsNotEnding() async throws {
    let (day, margin): (Int64, Int64) = (86_400_000, 180_000)
    let left = day - Timestamp.now.milliseconds % day
    if left < margin { try await Task.sleep(for: .milliseconds(left)) }
}
