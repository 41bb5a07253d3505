import Outbound
import ParseProtocol

/// The meaning of a webhook's answer: `{"success": value}`, `{}`, `{"error": "text"}` or
/// `{"error": {"code": 1, "message": "text"}}` (PARSE_PROTOCOL section 11.1). Everything else is a fault of the
/// webhook.
enum WebhookAnswer {
    /// As deep as an object's document may be nested.
    private static let depthMax = 40
    private static let textMax = 1000
    /// Codes with statuses that let SDKs repeat the request (500, 503, 429): what a webhook did must not be done again
    /// for its refusal.
    private static let repeating: Set<Int64> = [1, 2, 100]

    /// The value of `success`; null for no result.
    /// - Throws: the webhook's own error, or `.webhookError` (143) and `.invalidKeyName` (105) for an answer that
    ///   cannot be taken.
    static func success(status: Int, body: [UInt8]) throws(ParseError) -> JSON {
        guard (200..<300).contains(status) else {
            throw ParseError(.webhookError, "The webhook answered with status \(status).")
        }
        guard let json = try? JSON(parsing: body), case .object(let members) = json else {
            throw ParseError(.webhookError, "The webhook's answer is not a JSON object.")
        }
        if let error = members["error"], !error.isNull { throw refusal(error) }
        // A host whose function returned nothing; Parse Server takes it for no result, too.
        if members.isEmpty { return .null }
        guard let success = members["success"] else {
            throw ParseError(.webhookError, "The webhook's answer has neither success nor error.")
        }
        try check(success)
        return success
    }

    /// The error for a client when there is no answer. What exactly happened is in the log.
    static func failure(_ reason: OutboundFailure.Reason) -> ParseError {
        let text =
            switch reason {
            case .timedOut: "The webhook did not answer in time."
            case .broken: "The webhook's answer is not complete."
            case .answerTooLarge: "The webhook's answer is too large."
            case .unreachable, .refused, .cancelled, .mailRefused: "The webhook cannot be reached."
            }
        return ParseError(.webhookError, text)
    }

    /// The error that an answer is, as a client may hear it.
    static func refusal(_ error: JSON) -> ParseError {
        let text = error.stringValue ?? error["message"]?.stringValue ?? error["error"]?.stringValue
        var code = ParseError.Code.scriptFailed
        if let number = error["code"]?.intValue, (1...9999).contains(number), !repeating.contains(number) {
            code = .init(rawValue: Int(number))
        }
        return ParseError(code, text.map { String($0.prefix(textMax)) } ?? "The webhook refused.")
    }

    /// Refuses in a webhook's answer what clients may not send either: the answer reaches other clients.
    /// - Throws: `.invalidKeyName` (105) for a prohibited member, `.invalidJSON` (107) for a value that is nested too
    ///   deep.
    static func check(_ value: JSON, depth: Int = 0) throws(ParseError) {
        guard depth <= depthMax else {
            throw ParseError(.invalidJSON, "The webhook's answer is nested deeper than \(depthMax) levels.")
        }
        switch value {
        case .array(let elements): for element in elements { try check(element, depth: depth + 1) }
        case .object(let members):
            for (key, member) in members {
                if key == "constructor" || key == "__proto__" || (key == "_bsontype" && member == "Code") {
                    throw ParseError(.invalidKeyName, "Prohibited keyword in the webhook's answer: \(key).")
                }
                try check(member, depth: depth + 1)
            }
        default: return
        }
    }
}
