import Messages

/// The decisions about a job of cloud code, without I/O: it is begun at most once, and looked at until it has ended.
package struct CodeJobWatch {
    package enum Step: Equatable {
        /// `cloud` is to be asked, and told to begin the job if it is to begin.
        case ask(begins: Bool, after: Duration)
        /// The text that it ended with; empty for none.
        case succeeded(String)
        case failed(String)
    }

    /// The outcome of a question.
    package enum Answer: Equatable, Sendable {
        case state(CodeJobState)
        /// It was certainly not carried out.
        case notCarriedOut
        /// Nobody knows whether it was carried out.
        case unknown
        case refused(String)
    }

    /// The pause between two looks grows to a second, so that a short job is short and a long one costs little.
    private static let pauses: ClosedRange<Duration> = .milliseconds(20)...(.seconds(1))
    /// Questions in a row that reach nobody, a second apart at least.
    package static let awayMax = 300

    private var begins: Bool
    private var pause = pauses.lowerBound
    private var away = 0

    /// - Parameter isFirst: whether nobody can have begun the job before.
    package init(isFirst: Bool) { begins = isFirst }

    /// The first question.
    package func start() -> Step { .ask(begins: begins, after: .zero) }

    /// The step that follows from an answer.
    package mutating func next(after answer: Answer) -> Step {
        switch answer {
        case .refused(let text): return .failed(text)
        case .notCarriedOut, .unknown:
            // What may have been begun is not begun again.
            if answer == .unknown { begins = false }
            away += 1
            guard away < Self.awayMax else { return .failed("Cloud code could not be reached.") }
            return .ask(begins: begins, after: Self.pauses.upperBound)
        case .state(let state): return next(after: state)
        }
    }

    private mutating func next(after state: CodeJobState) -> Step {
        begins = false
        away = 0
        switch state.phase {
        case .succeeded: return .succeeded(state.message)
        case .failed: return .failed(state.message)
        case .unknown, .UNRECOGNIZED: return .failed("The process of the cloud code ended before the job did.")
        case .running:
            defer { pause = min(pause * 2, Self.pauses.upperBound) }
            return .ask(begins: false, after: pause)
        }
    }
}
