/// Decides what to do after the query of a push timed out. No I/O.
///
/// The first timeout means that no index covers the condition: from then on the push reads bounded ranges
/// (`Slice.read`). When a bounded range times out, the database is usually busy, so the range is read again. A push is
/// given up only when its ranges have timed out for `givenUpAfter` without one success: its condition is too slow.
package struct PushTimeouts: Sendable {
    package enum Decision: Sendable, Equatable {
        /// Read bounded ranges from now on.
        case scan
        /// Read the same range again.
        case retry
        /// Cancel the push.
        case giveUp
    }

    /// Much longer than a backup or another peak keeps the database busy.
    package static let givenUpAfter = Duration.seconds(900)

    private var scanning: Set<String> = []
    /// The first timeout since the last success, by push; only of pushes that read bounded ranges.
    private var failingSince: [String: ContinuousClock.Instant] = [:]

    package init() {}

    /// Whether a push reads bounded ranges.
    package func isScanning(_ push: String) -> Bool { scanning.contains(push) }

    package mutating func succeeded(_ push: String) { failingSince[push] = nil }

    package mutating func timedOut(_ push: String, at now: ContinuousClock.Instant) -> Decision {
        guard !scanning.insert(push).inserted else { return .scan }
        let since = failingSince[push] ?? now
        failingSince[push] = since
        return now - since < Self.givenUpAfter ? .retry : .giveUp
    }
}
