import ParseProtocol

/// The HTTP status of a Parse error (PARSE_PROTOCOL section 1.4). No other place decides it.
extension ParseResponse {
    package init(_ error: ParseError) {
        self.init(status: error.code.httpStatus, error.body)
        self.error = error
        if error.code == .serviceUnavailable { retryAfterSeconds = 1 }
        if error.code == .connectionFailed || error.code == .requestLimitExceeded { retryAfterSeconds = 60 }
        if let seconds = error.retryAfterSeconds { retryAfterSeconds = seconds }
    }

    /// A response without a code, for problems with keys. The protocol fixes its text.
    static func forbidden(_ text: String = "unauthorized", hint: String) -> ParseResponse {
        ParseResponse(status: 403, ["error": .string(text), "hint": .string(hint)])
    }

    static var masterKeyNeeded: ParseResponse {
        forbidden("unauthorized: master key is required", hint: Guidance.masterKey)
    }
}

extension ParseError.Code {
    package var httpStatus: Int {
        switch self {
        case .internalServerError: 500
        case .serviceUnavailable: 503
        case .connectionFailed, .requestLimitExceeded: 429
        case .objectNotFound: 404
        case .fileTooLarge: 413
        default: 400
        }
    }
}
