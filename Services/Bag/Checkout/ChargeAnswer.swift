import ParseProtocol
import ProcessKit
import ServiceKit

/// The form in which `chargeCustomer` and `ChargeToken` answer. Cloud code of hosted Parse answered either the charge
/// as Stripe has it or its id, and apps expect the one or the other.
package enum ChargeAnswer: String, CaseIterable, Sendable {
    /// The receipt, with the names that Stripe has for a charge.
    case object
    /// The charge's id.
    case text

    /// The parameter `answer`; nil when there is none.
    /// - Throws: `.validationError` (142) for anything else.
    init?(_ parameters: JSON) throws {
        guard let value = parameters["answer"], !value.isNull else { return nil }
        guard let form = value.stringValue.flatMap(ChargeAnswer.init(rawValue:)) else {
            throw ParseError(.validationError, "answer must be object or text.")
        }
        self = form
    }

    /// `SATCHEL_CHARGE_ANSWER`
    /// - Throws: `StartupProblem`.
    init(_ settings: Settings) throws(StartupProblem) {
        self = try settings.choice("satchel.charge.answer", default: ChargeAnswer.object)
    }

    /// - Parameter receipt: what the checkout answers.
    package func shown(_ receipt: JSON) -> JSON {
        // An order that costs nothing has no charge; its own id says as well that it was made.
        let id = [receipt["stripePaymentId"], receipt["orderId"]].compactMap(\.self).first { !$0.isNull } ?? ""
        guard self == .object else { return id }
        var answer = receipt
        answer["id"] = id
        answer["object"] = "charge"
        answer["amount"] = receipt["totalMinorUnits"] ?? 0
        answer["paid"] = true
        answer["status"] = "succeeded"
        return answer
    }
}
