import Outbound
import ParseProtocol

/// The trouble for which Stripe decided nothing. The same thing must be asked again. Its description is for the log and
/// the operator: it holds neither keys nor tokens.
package struct StripeTrouble: Error, Sendable, CustomStringConvertible {
    package enum Reason: Sendable, Equatable {
        /// No answer, or none that is complete.
        case noAnswer(OutboundFailure)
        /// The answer is not what Stripe's API answers.
        case unreadable(status: Int)
        /// 409, 429 and 5xx: another time. `isReplayed`: the fault is what Stripe keeps under the idempotency key, so
        /// the same key gets nothing else for a day.
        case later(status: Int, isReplayed: Bool)
        /// 400, 401, 403 and 404: Stripe refuses how it was asked. Somebody has to change something.
        case fault(StripeError)
        /// The amount or currency is not the one that was asked for.
        case mismatch(String)
        /// A state that decides nothing yet, or that nobody here brings about.
        case state(String)
    }

    package let reason: Reason
    /// Stripe's name for the request, which its support asks for; empty when there was no answer.
    package let requestId: String

    package init(_ reason: Reason, requestId: String = "") {
        self.reason = reason
        self.requestId = requestId
    }

    /// Waiting does not cure it: the operator has to look.
    package var needsOperator: Bool {
        switch reason {
        case .fault, .mismatch: true
        case .noAnswer, .unreadable, .later, .state: false
        }
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
    /// Stripe writes it for the customer when the type is `card_error`, else for the developer.
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

    /// The message is left out: for a bad key it repeats a part of the key.
    package var description: String {
        "status \(status), \(type.isEmpty ? "no type" : type)\(code.isEmpty ? "" : ", \(code)")"
            + (parameter.isEmpty ? "" : ", parameter \(parameter)")
    }

    var failure: ProviderFailure {
        ProviderFailure(
            type: type.isEmpty ? "card_error" : type, code: code.isEmpty ? "card_declined" : code,
            declineCode: declineCode, message: message.isEmpty ? "The payment was refused." : message)
    }

    /// The refusal, when Stripe refuses what the customer or the shop's prices brought along, and not how it was asked:
    /// a card or customer that does not exist, a used token, an amount out of bounds. No money moves with such an
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

    private static let sources = ["source", "customer", "payment_method", "card", "id"]
}
