import ParseProtocol
import SuiteClient
import Synchronization

/// Counts the attackers' answers by status, and the missing ones.
final class AttackTally: Sendable {
    struct Result: Sendable {
        /// By status, or by a word when there was no answer: `closed`, `timeout`, `unreachable`.
        var outcomes: [String: Int] = [:]
        var answerBytes = 0
        /// One truncated answer per status.
        var samples: [String: String] = [:]

        var requests: Int { outcomes.values.reduce(0, +) }
    }

    private let state = Mutex(Result())

    func add(_ answer: Answer) {
        let status = String(answer.status)
        state.withLock {
            $0.outcomes[status, default: 0] += 1
            $0.answerBytes += answer.bodyBytes
            if $0.samples[status] == nil { $0.samples[status] = String(answer.text.prefix(160)) }
        }
    }

    func add(_ outcome: String) { state.withLock { $0.outcomes[outcome, default: 0] += 1 } }

    var result: Result { state.withLock { $0 } }
}

extension AttackTally.Result {
    /// The form in which the attackers' process reports it.
    var json: JSON {
        [
            "outcomes": .object(outcomes.mapValues { .int(Int64($0)) }), "answerBytes": .int(Int64(answerBytes)),
            "samples": .object(samples.mapValues(JSON.string)),
        ]
    }

    init(json: JSON) {
        outcomes = (json["outcomes"]?.objectValue ?? [:]).compactMapValues { $0.intValue.map { Int($0) } }
        answerBytes = Int(json["answerBytes"]?.intValue ?? 0)
        samples = (json["samples"]?.objectValue ?? [:]).compactMapValues(\.stringValue)
    }
}
