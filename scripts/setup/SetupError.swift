import ParseProtocol

/// The reason for which a command ends with exit code 1. The description is what the operator reads.
enum SetupError: Error, CustomStringConvertible {
    /// An option, a variable or a file is not usable.
    case invalid(String)
    /// No answer came: the connection failed or timed out.
    case unreachable(request: String, reason: String)
    /// The gateway answered outside 200...299. `retryAfter` is set for a 503, which is worth another try.
    case refused(request: String, status: Int, error: ParseError?, retryAfter: Duration?)
    /// One object of a batch was not stored.
    case notStored(className: String, key: String, error: ParseError)
    /// An answer that is not what the protocol promises.
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
    /// The error of an answer or of a batch item; nil when it is none. The key check of the protocol sends no code.
    init?(answer: JSON) {
        guard let message = answer["error"]?.stringValue else { return nil }
        self.init(Code(rawValue: Int(clamping: answer["code"]?.intValue ?? 0)), message)
    }

    fileprivate var suffix: String { (code.rawValue == 0 ? "" : ", code \(code.rawValue)") + ": " + message }
}
