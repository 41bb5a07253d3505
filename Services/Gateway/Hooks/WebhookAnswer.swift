import Outbound
import ParseProtocol

/// Interprets a webhook's response: `{"success": value}`, `{}`, `{"error": "text"}` or `{"error": {"code": 1,
/// "message": "text"}}` (PARSE_PROTOCOL section 11.1). Any other response is the webhook's fault.
enum WebhookAnswer {
    /// The nesting depth that an object's document may have.
    private static let depthMax = 40
    private static let textMax = 1000
    /// Codes whose statuses let SDKs retry the request (500, 503, 429). A webhook's refusal must not make it run again.
    private static let repeating: Set<Int64> = [1, 2, 100]

    enum Outcome {
        /// The value of `success`; null for no result.
        case success(JSON)
        /// The webhook's error.
        case refusal(ParseError)
        /// An unusable response: `.scriptFailed` (141), `.invalidKeyName` (105) or `.invalidJSON` (107).
        case fault(ParseError)
    }

    static func outcome(status: Int, body: [UInt8]) -> Outcome {
        guard (200..<300).contains(status) else { return .fault(wrong(status)) }
        guard let json = try? JSON(parsing: body), case .object(let members) = json else {
            return fault("The webhook's answer is not a JSON object.")
        }
        if let error = members["error"], !error.isNull { return .refusal(refusal(error)) }
        // The host's function returned nothing; Parse Server also treats this as no result.
        if members.isEmpty { return .success(.null) }
        guard let success = members["success"] else {
            return fault("The webhook's answer has neither success nor error.")
        }
        do throws(ParseError) {
            try check(success)
        } catch {
            return .fault(error)
        }
        return .success(success)
    }

    private static func fault(_ text: String) -> Outcome { .fault(ParseError(.scriptFailed, text)) }

    private static func wrong(_ status: Int) -> ParseError {
        ParseError(.scriptFailed, "The webhook answered with status \(status).")
    }

    /// Whether an error says that the webhook gave no answer of its own: it is away, or a proxy answered for it.
    static func isMissing(_ error: ParseError) -> Bool { missing.contains(error) }

    private static let missing = Set(
        [OutboundFailure.Reason.unreachable, .timedOut, .broken].map(failure) + (500...599).map(wrong))

    /// The client's error when there is no response. The log has the exact cause.
    static func failure(_ reason: OutboundFailure.Reason) -> ParseError {
        let text =
            switch reason {
            case .timedOut: "The webhook did not answer in time."
            case .broken: "The webhook's answer is not complete."
            case .answerTooLarge: "The webhook's answer is too large."
            case .unreachable, .refused, .cancelled, .mailRefused: "The webhook cannot be reached."
            }
        return ParseError(.scriptFailed, text)
    }

    /// The webhook's error in the form that a client may see.
    static func refusal(_ error: JSON) -> ParseError {
        let text = error.stringValue ?? error["message"]?.stringValue ?? error["error"]?.stringValue
        var code = ParseError.Code.scriptFailed
        if let number = error["code"]?.intValue, (1...9999).contains(number), !repeating.contains(number) {
            code = .init(rawValue: Int(number))
        }
        return ParseError(code, text.map { String($0.prefix(textMax)) } ?? "The webhook refused.")
    }

    /// Rejects values in a webhook's response that clients may not send either, because the response reaches other
    /// clients.
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
