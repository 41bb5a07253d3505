import ParseProtocol

/// Decides what to do after the query of a push failed. No I/O.
///
/// A push is given up at once when a retry cannot succeed, for instance because a field has another type now.
///
/// The first timeout means that no index covers the condition: from then on the push reads bounded ranges
/// (`Slice.read`). When a bounded range times out, the database is usually busy, so the range is read again. After
/// `givenUpAfter` of timeouts without one success the push is given up: its condition is too slow.
package struct FanoutFailures: Sendable {
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

    package mutating func failed(_ push: String, _ error: any Error, at now: ContinuousClock.Instant) -> Decision {
        guard let error = error as? ParseError else { return .retry }
        guard error.code == .timeout else { return error.code.isTemporary ? .retry : .giveUp }
        guard !scanning.insert(push).inserted else { return .scan }
        let since = failingSince[push] ?? now
        failingSince[push] = since
        return now - since < Self.givenUpAfter ? .retry : .giveUp
    }
}
