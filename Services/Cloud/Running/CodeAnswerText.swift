import ParseProtocol

/// The answer to a request of cloud code that never reached its route, in the form of the gateway's answers.
enum CodeAnswerText {
    /// `status`, `headers` and `body`, as a JSON object.
    static func text(of error: ParseError) -> [UInt8] {
        let answer: JSON = ["status": .int(status(of: error.code)), "headers": [:], "body": error.body]
        return answer.serialized
    }

    private static func status(of code: ParseError.Code) -> Int64 {
        switch code {
        case .internalServerError: 500
        case .serviceUnavailable: 503
        case .requestLimitExceeded: 429
        default: 400
        }
    }
}
