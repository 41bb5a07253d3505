import ParseProtocol

/// Waits at the end of a day in UTC, so that the day lasts for a time.
package func untilDayIsNotEnding(for time: Duration = .seconds(180)) async throws {
    let day: Int64 = 86_400_000
    let left = Duration.milliseconds(day - Timestamp.now.milliseconds % day)
    if left < time { try await Task.sleep(for: left) }
}
