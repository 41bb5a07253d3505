import ParseProtocol
import SuiteClient
import Synchronization

/// The tally of what the attackers got: answers by status, and how often nothing came.
final class AttackTally: Sendable {
    struct Result: Sendable {
        /// By status, or by a word when there was none: `closed`, `timeout`, `unreachable`.
        var outcomes: [String: Int] = [:]
        var answerBytes = 0
        /// An answer of each status, cut.
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
    /// As one process hands it to the other.
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
