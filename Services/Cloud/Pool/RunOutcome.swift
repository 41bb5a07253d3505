/// The outcome of a call.
package enum RunOutcome: Equatable, Sendable {
    /// The result, as JSON.
    case result([UInt8])
    case failed(CodeFailure)
    /// It may have started, or can never run; how far it came is unknown. A text for the client.
    case ended(String)
    /// It was certainly not started. A text for the client, which may retry.
    case notRun(String)

    /// Its name in counts of calls.
    var name: String {
        switch self {
        case .result: "done"
        case .failed: "failed"
        case .ended: "ended"
        case .notRun: "not_run"
        }
    }
}
