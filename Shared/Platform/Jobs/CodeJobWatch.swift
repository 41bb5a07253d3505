import Messages
import ServiceKit

/// The decisions about a job of cloud code, without I/O: the job is started at most once, and polled until it ends.
package struct CodeJobWatch {
    package enum Step: Equatable {
        /// Ask `cloud` for the state; `begins`: `cloud` also starts the job.
        case ask(begins: Bool, after: Duration)
        /// The job's final message; empty for none.
        case succeeded(String)
        case failed(String)
    }

    /// The outcome of a request.
    package enum Answer: Equatable, Sendable {
        case state(CodeJobState)
        /// It was certainly not carried out.
        case notCarriedOut
        /// It may have been carried out.
        case unknown
        case refused(String)
    }

    /// The polling interval grows to 1 s, so that short jobs end quickly and long ones cost little.
    private static let backoff = Backoff(first: .milliseconds(20), longest: .seconds(1))
    /// Maximum consecutive requests without an answer, at least 1 s apart.
    package static let awayMax = 300

    private var begins: Bool
    private var looks = 0
    private var away = 0

    /// - Parameter isFirst: true when no earlier attempt can have started the job.
    package init(isFirst: Bool) { begins = isFirst }

    /// The first request.
    package func start() -> Step { .ask(begins: begins, after: .zero) }

    /// The step that follows from an answer.
    package mutating func next(after answer: Answer) -> Step {
        switch answer {
        case .refused(let text): return .failed(text)
        case .notCarriedOut, .unknown:
            // The job may have started, so it must not be started again.
            if answer == .unknown { begins = false }
            away += 1
            guard away < Self.awayMax else { return .failed("Cloud code could not be reached.") }
            return .ask(begins: begins, after: Self.backoff.longest)
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
            looks += 1
            return .ask(begins: false, after: Self.backoff.pause(afterFailures: looks))
        }
    }
}
