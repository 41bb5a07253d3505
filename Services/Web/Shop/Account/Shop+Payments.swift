import Messages
import ParseProtocol

/// The payment methods of an account.
extension Shop {
    private static let wallet = "/account/payments"

    func payments(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, Self.wallet)
        return try paymentList(&visit)
    }

    private func paymentList(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let owner = JSON.pointer("_User", visit.request.userID)
        let answer = try visit.ask(
            .find("PaymentMethod", ["owner": owner], order: "-default,-createdAt", limit: 100))[0]
        try require(answer, visit)
        let words = view(visit).words
        let methods = answer.results.map { method -> [String: Any] in
            let id = method["objectId"]?.stringValue ?? ""
            let month = String(method["expirationMonth"]?.intValue ?? 0)
            let expiry = (month.count < 2 ? "0" : "") + month + "/\(method["expirationYear"]?.intValue ?? 0)"
            return [
                "href": "\(Self.wallet)/\(id.percentEncoded)",
                "name": "\(method["type"]?.stringValue ?? "") •••• \(method["lastFourDigit"]?.stringValue ?? "")",
                "expiry": words("payments.expiry", ["date": expiry]), "isDefault": method["default"] == true,
            ]
        }
        var values: [String: Any] = ["methods": methods, "isEmpty": methods.isEmpty, "isSandbox": isSandbox]
        values["cards"] = Self.cards.map { token -> [String: Any] in
            ["token": token, "title": words("card.\(token)")]
        }
        if let problem = visit.kept?.problem { values["problem"] = problem }
        return render("account/payments", visit, title: words("payments.title"), values, personal: true)
    }

    func addPayment(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, Self.wallet)
        guard isSandbox else { throw .page(missing(visit)) }
        let answer = try visit.ask(.function("addPaymentMethod", ["tokenId": .string(visit.field("card"))]))[0]
        if answer.isSuccess { return redirect(Self.wallet) }
        if answer.status >= 500 { try require(answer, visit) }
        return again(Self.wallet, problem: answer.message)
    }

    /// Makes a payment method the default, or deletes it.
    func changePayment(_ visit: inout ShopVisit, _ id: String, _ step: String) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, Self.wallet)
        let answer: ShopAnswer
        switch step {
        case "default":
            answer = try visit.ask(.function("setDefaultPaymentMethod", ["paymentMethodId": .string(id)]))[0]
        case "delete": answer = try visit.ask(.send("DELETE", "classes/PaymentMethod/\(id.percentEncoded)", [:]))[0]
        default: throw .page(missing(visit))
        }
        // 101: it is deleted already.
        if answer.code != 101 { try require(answer, visit) }
        return redirect(Self.wallet)
    }
}
