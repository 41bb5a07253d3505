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
        let row: AnswerTimes.Row
    }

    private let kinds: [String] = Calls.all.map(\.kind)
    private let places: [String: Int]
    private let times: AnswerTimes

    init() {
        places = Dictionary(kinds.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        times = AnswerTimes(rows: kinds.count * Outcome.allCases.count)
    }

    /// The place of a kind's counts; nil for a kind that no call has.
    func place(of kind: String) -> Int? { places[kind] }

    func record(_ outcome: Outcome, at place: Int?, since start: ContinuousClock.Instant) {
        guard let place else { return }
        times.record(place * Outcome.allCases.count + outcome.rawValue, since: start)
    }

    /// The counts that are not zero.
    var parts: [Part] {
        times.rows.enumerated().compactMap { index, row in
            let (place, number) = index.quotientAndRemainder(dividingBy: Outcome.allCases.count)
            guard !row.buckets.isEmpty, let outcome = Outcome(rawValue: number) else { return nil }
            let kind = kinds[place]
            return Part(service: String(kind.prefix { $0 != "." }), kind: kind, outcome: outcome, row: row)
        }
    }

    /// The sums of a service's calls among `parts`.
    static func json(of service: String, in parts: [Part]) -> JSON {
        let own = parts.filter { $0.service == service }
        return AnswerTimes.json(
            own.map(\.row), refused: own.filter { $0.outcome == .refused }.map(\.row),
            failed: own.filter { $0.outcome == .failed }.map(\.row))
    }
}
