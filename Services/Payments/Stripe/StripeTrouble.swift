import Outbound
import ParseProtocol

/// A problem that leaves the outcome at Stripe unknown; the same request must be retried. The description is for the
/// log and the operator and contains neither keys nor tokens.
package struct StripeTrouble: Error, Sendable, CustomStringConvertible {
    package enum Reason: Sendable, Equatable {
        /// No complete answer arrived.
        case noAnswer(OutboundFailure)
        /// The answer is not a valid answer of Stripe's API.
        case unreadable(status: Int)
        /// 409, 429 and 5xx: retry later. `isReplayed`: Stripe stored this fault under the idempotency key, so the same
        /// key gets nothing else for a day.
        case later(status: Int, isReplayed: Bool)
        /// 400, 401, 403 and 404: Stripe refuses the request. Unless its data decide that (`StripeError.refusal`), the
        /// operator or a developer must fix something.
        case fault(StripeError)
        /// The amount or currency differs from the request.
        case mismatch(String)
        /// A state that decides nothing yet, or that Satchel never causes.
        case state(String)
    }

    package let reason: Reason
    /// Stripe's request id, which its support asks for; empty when there was no answer.
    package let requestId: String
    /// `Retry-After` of a `.later`; nil without one.
    package let retryAfterSeconds: Int?

    package init(_ reason: Reason, requestId: String = "", retryAfterSeconds: Int? = nil) {
        self.reason = reason
        self.requestId = requestId
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// Retrying does not help: the operator must act.
    package var needsOperator: Bool {
        switch reason {
        // The intent changed meanwhile, or Stripe is still processing it.
        case .fault(let error): error.code != "payment_intent_unexpected_state"
        case .mismatch: true
        case .noAnswer, .unreadable, .later, .state: false
        }
    }

    /// Whether the same request may succeed in a moment.
    var isPassing: Bool {
        switch reason {
        case .noAnswer, .later: true
        case .unreadable, .fault, .mismatch, .state: false
        }
    }

    /// Whether Stripe refuses the shop's key, for this request or for all.
    var refusesKey: Bool {
        guard case .fault(let error) = reason else { return false }
        return [401, 403].contains(error.status)
    }

    package var description: String {
        let text =
            switch reason {
            case .noAnswer(let failure): "Stripe did not answer: \(failure)"
            case .unreadable(let status): "Stripe's answer cannot be read (status \(status))"
            case .later(let status, let isReplayed):
                "Stripe answered \(status)\(isReplayed ? ", kept under the idempotency key" : "")"
            case .fault(let error): "Stripe refuses the request: \(error)"
            case .mismatch(let what): "Stripe's answer is about something else: \(what)"
            case .state(let state): "The payment is \(state)"
            }
        return requestId.isEmpty ? text : "\(text) [\(requestId)]"
    }
}

/// The `error` object of an answer (https://docs.stripe.com/api/errors).
package struct StripeError: Sendable, Equatable, CustomStringConvertible {
    package let status: Int
    package let type: String
    package let code: String
    package let declineCode: String?
    package let parameter: String
    /// With type `card_error` the text is for the customer, otherwise for the developer.
    package let message: String

    /// Nil when `body` has no error object.
    package init?(status: Int, body: JSON) {
        guard let error = body["error"], error.objectValue != nil else { return nil }
        func text(_ name: String) -> String { String((error[name]?.stringValue ?? "").prefix(Self.textMax)) }
        self.status = status
        type = text("type")
        code = text("code")
        declineCode = error["decline_code"]?.stringValue.map { String($0.prefix(Self.textMax)) }
        parameter = text("param")
        message = text("message")
    }

    private static let textMax = 300

    /// Leaves out the message: for a bad key it repeats a part of the key.
    package var description: String {
        "status \(status), \(type.isEmpty ? "no type" : type)\(code.isEmpty ? "" : ", \(code)")"
            + (parameter.isEmpty ? "" : ", parameter \(parameter)")
    }

    var failure: ProviderFailure {
        ProviderFailure(
            type: type.isEmpty ? "card_error" : type, code: code.isEmpty ? "card_declined" : code,
            declineCode: declineCode, message: message.isEmpty ? "The payment was refused." : message)
    }

    /// The refusal, when Stripe rejects the customer's data or the shop's prices rather than the form of the request: a
    /// card or customer that does not exist, a used token, an amount beyond a limit. No money moves with such an
    /// answer.
    var refusal: ProviderFailure? {
        switch code {
        case "resource_missing":
            Self.sources.contains { parameter.hasPrefix($0) } ? failure : nil
        case "token_already_used", "token_in_use", "payment_method_unexpected_state",
            "payment_method_customer_decline", "customer_source_missing", "missing", "amount_too_small",
            "amount_too_large":
            failure
        default: nil
        }
    }

    /// Whether Stripe rejects the customer's data or the shop's prices.
    var isRefusal: Bool { refusal != nil }

    /// Whether the object does not exist.
    var isMissing: Bool { status == 404 }

    /// Whether the request names an object of the other mode, test or live: the shop has keys of both.
    var isOfOtherMode: Bool { message.contains("a similar object exists in") }

    private static let sources = ["source", "customer", "payment_method", "card", "id"]
}
