import ParseProtocol

/// Why a command exits with 1. The description is shown to the operator.
enum SetupError: Error, CustomStringConvertible {
    /// An invalid option, variable or file.
    case invalid(String)
    /// No answer came: the connection failed or timed out.
    case unreachable(request: String, reason: String)
    /// The answer was outside 200...299. `retryAfter` is set for a 503, which may be retried.
    case refused(request: String, status: Int, error: ParseError?, retryAfter: Duration?)
    /// One object of a batch was not stored.
    case notStored(className: String, key: String, error: ParseError)
    /// The answer violates the protocol.
    case unexpectedAnswer(request: String)

    var code: ParseError.Code? {
        switch self {
        case .refused(_, _, let error, _): error?.code
        case .notStored(_, _, let error): error.code
        default: nil
        }
    }

    var description: String {
        switch self {
        case .invalid(let message): message
        case .unreachable(let request, let reason): "\(request): no answer (\(reason)). Is the suite running?"
        case .refused(let request, let status, let error, _): "\(request): HTTP \(status)\(error?.suffix ?? "")"
        case .notStored(let className, let key, let error): "\(className) \"\(key)\" was not stored\(error.suffix)"
        case .unexpectedAnswer(let request): "\(request): the answer is not what the Parse protocol promises."
        }
    }
}

extension ParseError {
    /// The error in an answer or a batch item; nil when there is none. A failed key check has no code in the protocol.
    init?(answer: JSON) {
        guard let message = answer["error"]?.stringValue else { return nil }
        self.init(Code(rawValue: Int(clamping: answer["code"]?.intValue ?? 0)), message)
    }

    fileprivate var suffix: String { (code.rawValue == 0 ? "" : ", code \(code.rawValue)") + ": " + message }
}
