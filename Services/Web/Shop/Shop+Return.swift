import Messages
import ParseProtocol

/// The payment between the checkout's form and the receipt: the bank asks the shopper to confirm it (3-D Secure), and
/// the shopper comes back. What the page shows is the provider's word; nothing in its address counts but the attempt.
extension Shop {
    /// The page after an attempt to pay; nil when it failed.
    func afterCheckout(_ answer: ShopAnswer, _ attempt: String) -> ShopPage? {
        if answer.isSuccess, answer.result["status"] != "requiresAction",
            let id = answer.result["orderId"]?.stringValue
        {
            return redirect("/orders/\(id.percentEncoded)?thanks=1")
        }
        guard answer.isSuccess || answer.code == Self.undecided else { return nil }
        return redirect(Self.returnPath(attempt))
    }

    /// The code of a payment that is not decided yet.
    private static let undecided: Int64 = 124

    static func returnPath(_ attempt: String) -> String { "/checkout/return?attempt=\(attempt.percentEncoded)" }

    /// `/checkout/return?attempt=…`: where the shopper comes back to, also by Reload.
    func checkoutReturn(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        // An app's key may begin or end with a space.
        let attempt = visit.request.query["attempt"] ?? ""
        guard !visit.isNobody, !attempt.isEmpty else { return redirect("/checkout") }
        let answer = try visit.ask(.function("checkoutResult", ["idempotencyKey": .string(attempt)]))[0]
        return try result(&visit, answer, attempt)
    }

    private func result(
        _ visit: inout ShopVisit, _ answer: ShopAnswer, _ attempt: String
    ) throws(ShopStop) -> ShopPage {
        if answer.isSuccess, answer.result["status"] == "requiresAction" {
            return confirmPage(visit, attempt, secret: answer.result["clientSecret"]?.stringValue ?? "")
        }
        if answer.code == Self.undecided || answer.status >= 500 || answer.status == 429 {
            return confirmPage(visit, attempt, secret: nil)
        }
        if let next = afterCheckout(answer, attempt) { return next }
        // Of another shopper, or never made. Not back to a page that led here.
        if answer.code == 101 { return redirect(visit.query("again").isEmpty ? "/checkout" : "/bag") }
        let words = view(visit).words
        let isUnconfirmed = answer.json["details"]?["code"] == "payment_intent_authentication_failure"
        return try checkout(
            &visit, problem: isUnconfirmed ? words("confirm.failed") : answer.message,
            entered: answer.json["details"]?["order"] ?? [:])
    }

    /// - Parameter secret: nil while it is not known whether the shopper has to confirm.
    private func confirmPage(_ visit: ShopVisit, _ attempt: String, secret: String?) -> ShopPage {
        let words = view(visit).words
        var values: [String: Any] = ["attempt": attempt, "look": Self.returnPath(attempt)]
        if let secret {
            values["asks"] = true
            values["isSandbox"] = isSandbox
            if let stripeKey {
                values["stripe"] = [
                    "key": stripeKey, "secret": secret, "next": Self.returnPath(attempt) + "&again=1",
                    // Once: a bank's page that does not open must not be opened for ever. Not for a shopper who comes
                    // from the bag, who may want another card.
                    "starts": visit.query("again").isEmpty ? "true" : "false",
                ]
            }
        }
        var page = render("confirm", visit, title: words("confirm.title"), values, personal: true)
        page.runsStripe = values["stripe"] != nil
        return page
    }

    /// The bank's page of the sandbox, or a shopper who does not want to confirm.
    func changeReturn(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let attempt = visit.request.form["attempt"] ?? ""
        guard !visit.isNobody, !attempt.isEmpty else { return redirect("/checkout") }
        var parameters: [String: JSON] = ["idempotencyKey": .string(attempt)]
        guard visit.field("giveUp").isEmpty else {
            parameters["giveUp"] = true
            let answer = try visit.ask(.function("checkoutResult", .object(parameters)))[0]
            return afterCheckout(answer, attempt) ?? redirect("/checkout")
        }
        let answer = try visit.ask(.function("checkoutResult", .object(parameters)))[0]
        if isSandbox, let secret = answer.result["clientSecret"] {
            _ = try visit.ask(
                .function(
                    "sandboxAction", ["clientSecret": secret, "confirms": .bool(visit.field("confirms") == "1")]))
        }
        return redirect(Self.returnPath(attempt))
    }
}
