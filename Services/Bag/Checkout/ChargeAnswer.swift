import ParseProtocol
import ProcessKit
import ServiceKit

/// The form in which `chargeCustomer` and `ChargeToken` answer. Cloud code on hosted Parse returned either Stripe's
/// charge object or its id, and apps expect one of the two.
package enum ChargeAnswer: String, CaseIterable, Sendable {
    /// The receipt, with the field names of a Stripe charge.
    case object
    /// The charge's id.
    case text

    /// The parameter `answer`; nil when it is absent.
    /// - Throws: `.validationError` (142) for any other value.
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

    /// - Parameter receipt: the checkout's result.
    package func shown(_ receipt: JSON) -> JSON {
        // An order that costs nothing has no charge. Its order id also proves that it was placed.
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
