import Foundation
import Messages
import ParseProtocol

/// The bag and the checkout.
extension Shop {
    func bag(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let words = view(visit).words
        guard !visit.isNobody else {
            return render("bag", visit, title: words("bag.title"), ["isEmpty": true], personal: true)
        }
        let answer = try visit.ask(.function("bag"))[0]
        try require(answer, visit)
        return bagPage(visit, answer.result)
    }

    private func bagPage(_ visit: ShopVisit, _ bag: JSON) -> ShopPage {
        let view = view(visit)
        let lines = view.lines(bag)
        var values = view.sums(bag)
        values["lines"] = lines
        values["isEmpty"] = lines.isEmpty
        if let missing = Int(visit.query("missing")), missing > 0 {
            values["missing"] = view.words("bag.missing", ["n": String(missing)])
        }
        if let problem = visit.kept?.problem { values["problem"] = problem }
        return render("bag", visit, title: view.words("bag.title"), values, personal: true)
    }

    /// Adds a product, or sets its quantity. A shopper without a session becomes a guest first.
    func changeBag(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let product = visit.field("product")
        let quantity = Int64(visit.field("quantity")) ?? 1
        let sets = visit.field("set") == "1"
        if visit.isNobody { try require(try visit.ask(.guest)[0], visit) }
        let answer = try visit.ask(
            .function(
                sets ? "setBagQuantity" : "addToBag",
                [
                    "productId": .string(product), "quantity": .int(quantity),
                ]))[0]
        guard answer.isSuccess else {
            guard answer.code == 142 else {
                try require(answer, visit)
                return redirect("/bag")
            }
            return again("/bag", problem: answer.message)
        }
        return redirect(visit.next("/bag"))
    }

    func changeCode(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        guard !visit.isNobody else { return redirect("/bag") }
        let code = visit.field("code")
        let answer = try visit.ask(
            .function("setDiscountCode", code.isEmpty ? [:] : ["discountCode": .string(code)]))[0]
        guard !answer.isSuccess else { return redirect("/bag") }
        guard answer.code == 142 else {
            try require(answer, visit)
            return redirect("/bag")
        }
        return again("/bag", problem: answer.message)
    }

    /// What scripts add to pages that every shopper gets alike: the number of pieces in the bag, the shopper's name
    /// and, for `product`, the favorite that the shopper has of it.
    func badge(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        var pieces: Int64 = 0
        if !visit.isNobody {
            let answer = try visit.ask(.function("bag"))[0]
            pieces = answer.result["badgeCount"]?.intValue ?? 0
        }
        var json: JSON = ["pieces": .int(pieces), "signedIn": .bool(visit.isSignedIn)]
        if visit.isSignedIn {
            let user = try visit.ask(.get("users/me"))[0].json
            json["name"] = .string(user["firstName"]?.stringValue ?? "")
            let product = visit.query("product")
            if !product.isEmpty {
                let mine: JSON = [
                    "customer": .pointer("_User", visit.request.userID), "product": .pointer("Product", product),
                ]
                let found = try visit.ask(.find("FavoriteProduct", mine, order: "", limit: 1, keys: "product"))[0]
                json["favorite"] = .string(found.results.first?["objectId"]?.stringValue ?? "")
            }
        }
        return .with {
            $0.status = 200
            $0.html = json.serializedText
            $0.contentType = "application/json; charset=utf-8"
            $0.personal = true
        }
    }

    // MARK: - Checkout

    static let addressFields = [
        "firstName", "lastName", "address1", "address2", "city", "state", "zipcode", "phone",
    ]
    /// Only of an address that an app has stored: the shop asks nobody for it.
    private static let country = "country"
    static let requiredFields = ["firstName", "lastName", "address1", "city", "state", "zipcode"]
    static let cards = [
        "tok_visa", "tok_mastercard", "tok_amex", "tok_chargeDeclinedInsufficientFunds",
        "tok_authenticationRequiredOnSetup", "tok_threeDSecureRequiredChargeDeclined",
    ]

    /// - Parameters:
    ///   - problem: why the last attempt failed.
    ///   - entered: the order's fields of that attempt.
    func checkout(
        _ visit: inout ShopVisit, problem: String? = nil, entered: JSON = [:]
    ) throws(ShopStop) -> ShopPage {
        guard !visit.isNobody else { return redirect("/bag") }
        let answers = try visit.ask(
            .function("bag"), .find("Address", order: "-default,-updatedAt", limit: 1), .get("users/me"))
        try require(answers[0], visit)
        guard answers[0].result["items"]?.arrayValue?.isEmpty == false else { return redirect("/bag") }
        // An earlier payment waits for the bank: the shopper goes on with it, or ends it.
        if problem == nil, visit.kept == nil, let attempt = answers[0].result["waitingPayment"]?.stringValue {
            return redirect(Self.returnPath(attempt) + "&again=1")
        }
        // The stored address, else the account's own.
        let stored = entered["shippingAddress"] ?? answers[1].results.first ?? answers[2].json
        var fields: [String: String] = [:]
        for name in Self.addressFields + [Self.country] { fields[name] = stored[name]?.stringValue ?? "" }
        fields["email"] = (entered["email"] ?? answers[2].json["email"])?.stringValue ?? ""
        fields["note"] = entered["note"]?.stringValue ?? ""
        fields["gift"] = entered["giftMessage"]?.stringValue ?? ""
        fields["attempt"] = UUID().uuidString.lowercased()
        let form = visit.kept ?? ShopForm()
        if !form.isGood { for name in Self.addressFields { fields[name] = "" } }
        fields.merge(form.typed) { $1 }
        return checkoutPage(
            visit, answers[0].result, fields, problem: problem ?? form.problem, wrong: Set(form.wrong.keys))
    }

    private func checkoutPage(
        _ visit: ShopVisit, _ bag: JSON, _ fields: [String: String], problem: String?, wrong: Set<String>
    ) -> ShopPage {
        let view = view(visit)
        var values = view.sums(bag)
        values["lines"] = view.lines(bag)
        values["attempt"] = fields["attempt"] ?? ""
        values["note"] = fields["note"] ?? ""
        values["gift"] = fields["gift"] ?? ""
        values["email"] = fields["email"] ?? ""
        values["asksEmail"] = !visit.isSignedIn
        values["emailWrong"] = wrong.contains("email")
        // The price that the shopper sees, which `pay` compares.
        values["seen"] = bag["totalMinorUnits"]?.intValue ?? 0
        let names = Self.addressFields + (fields[Self.country]?.isEmpty == false ? [Self.country] : [])
        values["fields"] = names.map { name -> [String: Any] in
            [
                "name": name, "label": view.words("address.\(name)"), "value": fields[name] ?? "",
                "required": Self.requiredFields.contains(name), "wrong": wrong.contains(name),
                "autocomplete": Self.autocomplete[name] ?? "off",
            ]
        }
        let total = bag["totalMinorUnits"]?.intValue ?? 0
        values["isSandbox"] = isSandbox
        values["takesNoCards"] = !isSandbox && stripeKey == nil && total > 0
        if let stripeKey, total > 0 {
            values["stripe"] = ["key": stripeKey, "amount": String(total), "currency": currency.code]
        }
        values["cards"] = Self.cards.map { token -> [String: Any] in
            [
                "token": token, "title": view.words("card.\(token)"),
                "selected": token == (fields["card"] ?? Self.cards[0]),
            ]
        }
        if let problem { values["problem"] = problem }
        var page = render("checkout", visit, title: view.words("checkout.title"), values, personal: true)
        page.runsStripe = values["stripe"] != nil
        return page
    }

    static let autocomplete = [
        "firstName": "given-name", "lastName": "family-name", "address1": "address-line1",
        "address2": "address-line2", "city": "address-level2", "state": "address-level1", "zipcode": "postal-code",
        "phone": "tel", "country": "country-name",
    ]

    /// Pays with the key of the form: a form that is sent twice, or again after "Back", gets the same receipt.
    func pay(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        guard !visit.isNobody else { return redirect("/bag") }
        let words = view(visit).words
        var fields: [String: String] = [:]
        for name in Self.addressFields + [Self.country, "attempt", "note", "gift", "email", "card"] {
            fields[name] = visit.field(name)
        }
        var wrong = Set(Self.requiredFields.filter { fields[$0]?.isEmpty != false })
        if !visit.isSignedIn, fields["email"]?.contains("@") != true { wrong.insert("email") }
        var problem = wrong.isEmpty ? nil : words("checkout.incomplete")
        if problem == nil, !isSandbox || !visit.field("seen").isEmpty {
            let bag = try visit.ask(.function("bag"))[0]
            try require(bag, visit)
            let total = bag.result["totalMinorUnits"]?.intValue
            // With an empty bag the form was sent before, and gets the same receipt.
            let isEmpty = bag.result["items"]?.arrayValue?.isEmpty != false
            if let seen = Int64(visit.field("seen")), !isEmpty, total != seen {
                problem = words("checkout.changed")
            } else if !isSandbox, stripeKey == nil || fields["card"]?.isEmpty != false, total != 0 {
                problem = words(stripeKey == nil ? "checkout.noCards" : "checkout.needsScript")
            }
        }
        if problem == nil {
            // The total once more: bag and prices may change before this request.
            let parameters = checkoutParameters(fields, seen: Int64(visit.field("seen")))
            let answer = try visit.ask(.function("checkout", parameters))[0]
            if let next = afterCheckout(answer, fields["attempt"] ?? "") { return next }
            problem = answer.status >= 500 ? words("checkout.undecided") : answer.message
            if answer.code == 142, answer.message.hasPrefix("The amount ") { problem = words("checkout.changed") }
            // The key belongs to the refused attempt, and another card is another attempt.
            if answer.status < 500 { fields["attempt"] = nil }
        }
        var form = ShopForm()
        form.typed = fields
        form.problem = problem
        for name in wrong { form.wrong[name] = words("form.missing") }
        return again("/checkout", form)
    }

    /// - Parameter seen: the total that the shopper saw; another one is refused.
    private func checkoutParameters(_ fields: [String: String], seen: Int64?) -> JSON {
        var address: [String: JSON] = [:]
        for name in Self.addressFields + [Self.country] {
            if let value = fields[name], !value.isEmpty { address[name] = .string(value) }
        }
        var parameters: [String: JSON] = ["shippingAddress": .object(address)]
        if fields["attempt"]?.isEmpty == false { parameters["allowsAction"] = true }
        if let seen { parameters["amount"] = .int(seen) }
        for (name, parameter) in [
            ("card", "tokenId"), ("attempt", "idempotencyKey"), ("note", "note"), ("gift", "giftMessage"),
            ("email", "email"),
        ] {
            if let value = fields[name], !value.isEmpty { parameters[parameter] = .string(value) }
        }
        return .object(parameters)
    }
}
