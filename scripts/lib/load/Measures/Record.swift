import Synchronization

/// The record of a run: every request by phase, by step and by the second of its scheduled start.
final class Record: Sendable {
    /// One second of the run.
    struct Second: Sendable {
        /// Requests scheduled in this second.
        var due = 0
        /// Answers received in this second, for requests of any second.
        var finished = 0
        /// Results of the requests scheduled in this second.
        var tally = Tally(times: Times(digits: .two))
    }

    struct State: Sendable {
        var phases: [Tally] = []
        var steps: [Step: Tally] = [:]
        var seconds: [Second] = []
        var errors: [String: Int] = [:]
        /// The dispatcher's own delay, which is included in the times but not caused by the shop.
        var lateness = Times()
    }

    private let state = Mutex(State())

    /// Maximum kinds of errors that are counted separately.
    private static let errorKindsMax = 100

    /// Begins a phase.
    /// - Returns: its index.
    func beginPhase() -> Int {
        state.withLock {
            $0.phases.append(Tally())
            return $0.phases.count - 1
        }
    }

    /// Records that a request is due.
    /// - Parameters:
    ///   - start: seconds since the start of the run.
    ///   - lateness: the dispatcher's delay in seconds.
    func due(at start: Double, lateness: Double) {
        state.withLock {
            $0.lateness.add(seconds: lateness)
            Self.change(second: start, of: &$0) { $0.due += 1 }
        }
    }

    /// Records the result of a request.
    /// - Parameters:
    ///   - step: nil when it was never sent.
    ///   - end: seconds since the start of the run.
    func note(_ step: Step?, _ outcome: Outcome, of due: Due, end: Double) {
        let time = end - due.start
        state.withLock {
            $0.phases[due.phase].add(outcome, after: time)
            if let step { $0.steps[step, default: Tally()].add(outcome, after: time) }
            Self.change(second: due.start, of: &$0) { $0.tally.add(outcome, after: time) }
            Self.change(second: end, of: &$0) { $0.finished += 1 }
            if case .failed(let why) = outcome {
                let name = step.map { "\($0.rawValue): \(why)" } ?? why
                let isTold = $0.errors[name] != nil || $0.errors.count < Self.errorKindsMax
                $0.errors[isTold ? name : "others", default: 0] += 1
            }
        }
    }

    private static func change(second time: Double, of state: inout State, _ change: (inout Second) -> Void) {
        let index = Int(max(time, 0))
        while state.seconds.count <= index { state.seconds.append(Second()) }
        change(&state.seconds[index])
    }

    /// The figures of a phase so far.
    func figures(ofPhase index: Int) -> Figures { state.withLock { $0.phases[index] }.figures }

    /// One second of the run; nil when nothing happened in it or after it.
    func second(_ index: Int) -> Second? {
        state.withLock { $0.seconds.indices.contains(index) ? $0.seconds[index] : nil }
    }

    var snapshot: State { state.withLock { $0 } }
}
