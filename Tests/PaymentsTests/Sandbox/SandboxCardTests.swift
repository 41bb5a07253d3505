import ParseProtocol
import PaymentsService
import ServiceSupport
import Testing

/// Stripe's documented test tokens behave as at Stripe.
@Suite struct SandboxCardTests {
    @Test(arguments: [
        ("tok_visa", "Visa", "4242"), ("tok_visa_debit", "Visa", "5556"), ("tok_mastercard", "MasterCard", "4444"),
        ("tok_mastercard_debit", "MasterCard", "3222"), ("tok_mastercard_prepaid", "MasterCard", "5100"),
        ("tok_amex", "American Express", "8431"), ("tok_discover", "Discover", "1117"),
        ("tok_diners", "Diners Club", "0004"), ("tok_jcb", "JCB", "0505"), ("tok_unionpay", "UnionPay", "0005"),
        ("pm_card_visa", "Visa", "4242"), ("pm_card_amex", "American Express", "8431"),
    ])
    func goodCards(_ token: String, _ brand: String, _ lastFour: String) {
        let card = SandboxCard(token: token)
        #expect(card?.brand == brand)
        #expect(card?.lastFourDigits == lastFour)
        #expect(card?.decline == nil)
    }

    @Test(arguments: [
        ("tok_chargeDeclined", "card_declined", "generic_decline", "Your card was declined."),
        ("tok_visa_chargeDeclined", "card_declined", "generic_decline", "Your card was declined."),
        (
            "tok_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds",
            "Your card has insufficient funds."
        ),
        ("tok_chargeDeclinedLostCard", "card_declined", "lost_card", "Your card was declined."),
        ("tok_chargeDeclinedStolenCard", "card_declined", "stolen_card", "Your card was declined."),
        ("tok_chargeDeclinedFraudulent", "card_declined", "fraudulent", "Your card was declined."),
        ("tok_chargeDeclinedExpiredCard", "expired_card", "expired_card", "Your card has expired."),
        ("tok_chargeDeclinedIncorrectCvc", "incorrect_cvc", "incorrect_cvc", "Your card's security code is incorrect."),
        (
            "pm_card_visa_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds",
            "Your card has insufficient funds."
        ),
    ])
    func declinedCards(_ token: String, _ code: String, _ declineCode: String, _ message: String) throws {
        let card = try #require(SandboxCard(token: token))
        let error = try #require(card.decline?.parseError)
        #expect(error.code == .scriptFailed)
        #expect(error.message == message)
        #expect(
            error.details
                == ["type": "card_error", "code": .string(code), "decline_code": .string(declineCode)])
        #expect(card.isDeclinedOnAttach)
    }

    @Test func aCardThatAttachesButCannotBeCharged() {
        let card = SandboxCard(token: "tok_chargeCustomerFail")
        #expect(card?.decline?.code == "card_declined")
        #expect(card?.isDeclinedOnAttach == false)
    }

    @Test(arguments: [
        ("tok_threeDSecure2Required", "3220"), ("pm_card_authenticationRequiredOnSetup", "3155"),
        ("tok_threeDSecureRequiredChargeDeclined", "1629"),
    ])
    func cardsWhoseBankAsks(_ token: String, _ lastFour: String) throws {
        let card = try #require(SandboxCard(token: token))
        #expect(card.asksBank)
        #expect(card.lastFourDigits == lastFour)
        #expect((card.decline != nil) == (lastFour == "1629"))
        #expect(!card.isDeclinedOnAttach)
    }

    @Test(arguments: ["", "tok_", "tok_unknown", "visa", "4242424242424242", "tok_visa_visa_chargeDeclined", "cus_1"])
    func unknownTokensAreNoCards(_ token: String) {
        #expect(SandboxCard(token: token) == nil)
    }
}
