import Messages
import ParseProtocol

/// The services' response times by kind of call, as the gateway measures them: they include the bus and the wait for a
/// lane.
final class ServiceTimes: Sendable {
    enum Outcome: Int, CaseIterable, Sendable {
        case done
        /// The caller's error.
        case refused
        /// Satchel's error.
        case failed

        /// A service's error.
        init(_ error: ParseError) {
            switch error.code {
            case .internalServerError, .serviceUnavailable, .timeout: self = .failed
            default: self = .refused
            }
        }
    }

    /// The counts of a kind's replies with one outcome.
    struct Part: Sendable {
        let service: String
        let kind: String
        let outcome: Outcome
        let row: ResponseTimes.Row
    }

    private let kinds: [String] = Calls.all.map(\.kind)
    private let slots: [String: Int]
    private let times: ResponseTimes

    init() {
        slots = Dictionary(kinds.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        times = ResponseTimes(rows: kinds.count * Outcome.allCases.count)
    }

    /// The position of a kind's counts; nil for a kind that no call has.
    func slot(of kind: String) -> Int? { slots[kind] }

    func record(_ outcome: Outcome, at slot: Int?, since start: ContinuousClock.Instant) {
        guard let slot else { return }
        times.record(slot * Outcome.allCases.count + outcome.rawValue, since: start)
    }

    /// The counts that are not zero.
    var parts: [Part] {
        times.rows.enumerated().compactMap { index, row in
            let (slot, number) = index.quotientAndRemainder(dividingBy: Outcome.allCases.count)
            guard !row.buckets.isEmpty, let outcome = Outcome(rawValue: number) else { return nil }
            let kind = kinds[slot]
            return Part(service: String(kind.prefix { $0 != "." }), kind: kind, outcome: outcome, row: row)
        }
    }

    /// The sums of a service's calls among `parts`.
    static func json(of service: String, in parts: [Part]) -> JSON {
        let own = parts.filter { $0.service == service }
        return ResponseTimes.json(
            own.map(\.row), refused: own.filter { $0.outcome == .refused }.map(\.row),
            failed: own.filter { $0.outcome == .failed }.map(\.row))
    }
}
