import Messages
import ParseProtocol

/// Sign-up, sign-in, orders and favorites.
extension Shop {
    // MARK: - Sign-up and sign-in

    /// The form to sign up or to log in.
    func entry(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let isNew = visit.request.path.first == "sign-up"
        let next = visit.next("/account")
        let words = view(visit).words
        let form = visit.kept ?? ShopForm()
        let providers = try signInOptions(&visit).providers
        var values: [String: Any] = [
            "isNew": isNew, "next": next, "heading": words(isNew ? "signUp.title" : "logIn.title"),
            "other": (isNew ? "/log-in" : "/sign-up") + Self.nextQuery(next), "hasProviders": !providers.isEmpty,
        ]
        values["providers"] = providers.map { provider -> [String: Any] in
            [
                "href": "/log-in/\(provider.percentEncoded)" + Self.nextQuery(next),
                "title": words("logIn.by", ["provider": Self.providerName(provider)]),
            ]
        }
        for name in ["email", "firstName", "lastName"] { values[name] = form[name] }
        if let problem = form.problem { values["problem"] = problem }
        return render(
            "entry", visit, title: words(isNew ? "signUp.title" : "logIn.title"), values, personal: true)
    }

    static func nextQuery(_ next: String) -> String { ["next": JSON.string(next)].queryText }

    /// The form again, with the page to return to.
    private func entryAgain(_ visit: ShopVisit, _ form: ShopForm, _ problem: String) -> ShopPage {
        var form = form
        form.problem = problem
        return again("/\(visit.request.path[0])" + Self.nextQuery(visit.next("/account")), form)
    }

    /// A guest becomes a customer and keeps the bag.
    func signUp(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let words = view(visit).words
        let password = visit.request.form["password"] ?? ""
        var form = ShopForm()
        for name in ["email", "firstName", "lastName"] { form.typed[name] = visit.field(name) }
        let email = form["email"]
        guard email.contains("@") else { return entryAgain(visit, form, words("signUp.email")) }
        guard password.count >= 6 else { return entryAgain(visit, form, words("signUp.password")) }
        var account: [String: JSON] = [
            "username": .string(email), "email": .string(email), "password": .string(password),
        ]
        for name in ["firstName", "lastName"] where !form[name].isEmpty { account[name] = .string(form[name]) }
        let answer: ShopAnswer
        if visit.request.guest {
            account["authData"] = ["anonymous": .null]
            let id = visit.request.userID
            answer = try visit.ask(.send("PUT", "users/\(id.percentEncoded)", .object(account), beginsSession: true))[0]
        } else {
            answer = try visit.ask(.send("POST", "users", .object(account), beginsSession: true))[0]
        }
        guard answer.isSuccess else {
            if answer.status >= 500 { try require(answer, visit) }
            return entryAgain(visit, form, answer.message)
        }
        return redirect(visit.next("/account"))
    }

    /// The bag of a guest moves into the account.
    func logIn(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        var form = ShopForm()
        form.typed["email"] = visit.field("email")
        let account: JSON = [
            "username": .string(form["email"]), "password": .string(visit.request.form["password"] ?? ""),
        ]
        let answer = try visit.ask(.send("POST", "login", account, beginsSession: true))[0]
        guard let code = answer.code else { return redirect(visit.next("/account")) }
        if answer.status >= 500 { try require(answer, visit) }
        if code == Self.codeWanted { return askForCode("login", account, next: visit.next("/account")) }
        // A locked account has an error of its own with the same code.
        let isWrong = code == 101 && answer.message == "Invalid username/password."
        return entryAgain(visit, form, isWrong ? view(visit).words("logIn.wrong") : answer.message)
    }

    func logOut(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        if !visit.isNobody { _ = try visit.ask(.send("POST", "logout", [:])) }
        var page = redirect("/")
        page.endsSession = true
        return page
    }

    // MARK: - Orders

    func account(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        guard visit.isSignedIn else { return redirect("/log-in?next=%2Faccount") }
        let page = min(max(Int(visit.query("page")) ?? 1, 1), 100)
        let answers = try visit.ask(
            .get("users/me"),
            .find("Order", ["orderStatus": 1], order: "-orderNo", limit: 10, skip: (page - 1) * 10, counts: true))
        for answer in answers { try require(answer, visit) }
        let view = view(visit)
        let user = answers[0].json
        var values: [String: Any] = [
            "email": user["email"]?.stringValue ?? user["username"]?.stringValue ?? "",
            "hasFactors": try signInOptions(&visit).offersSecondFactor,
            "name": ["firstName", "lastName"].compactMap { user[$0]?.stringValue }.joined(separator: " "),
            "orders": answers[1].results.map(view.order), "hasOrders": !answers[1].results.isEmpty,
        ]
        values["saved"] = visit.query("saved") == "1"
        if let photo = ShopPicture(user["photo"]) { values["photo"] = photo.values(upTo: 320) }
        if let problem = visit.kept?.problem { values["problem"] = problem }
        if page > 1 { values["previous"] = "/account?page=\(page - 1)" }
        if page * 10 < answers[1].count { values["following"] = "/account?page=\(page + 1)" }
        return render("account", visit, title: view.words("account.title"), values, personal: true)
    }

    func order(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        guard !visit.isNobody else { throw .page(missing(visit)) }
        let answer = try visit.ask(
            .get("classes/Order/\(id.percentEncoded)", ["include": "items.product"]))[0]
        try require(answer, visit)
        return try orderPage(&visit, answer.json)
    }

    private func orderPage(_ visit: inout ShopVisit, _ order: JSON) throws(ShopStop) -> ShopPage {
        let view = view(visit)
        let refunds = try refunds(&visit, of: order)
        var values = view.order(order)
        values["lines"] = view.lines(order, refunds: refunds)
        values["steps"] = view.steps(order)
        values["refunds"] = refunds.map(view.refund)
        values["hasRefunds"] = !refunds.isEmpty
        values["isPlaced"] = order["orderStatus"] == 1
        values["carrier"] = order["carrier"]?.stringValue ?? ""
        if let url = order["trackingUrl"]?.stringValue, url.hasPrefix("https://") || url.hasPrefix("http://") {
            values["trackingHref"] = url
        }
        values["thanks"] = visit.query("thanks") == "1"
        values["isGuest"] = visit.request.guest
        values["address"] = view.addressLines(order["shippingAddress"] ?? .null)
        if let note = order["note"]?.stringValue, !note.isEmpty { values["note"] = note }
        if let discount = order["discountMinorUnits"]?.intValue, discount > 0 {
            values["discount"] = view.money(-discount)
            values["subtotal"] = view.money((order["total"]?.intValue ?? 0).inRange(adding: discount))
        }
        if let problem = visit.kept?.problem { values["problem"] = problem }
        return render(
            "order", visit, title: view.words("order.title", ["n": String(order["orderNo"]?.intValue ?? 0)]), values,
            personal: true)
    }

    func cancel(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        guard !visit.isNobody else { throw .page(missing(visit)) }
        let answer = try visit.ask(.function("cancelOrder", ["orderId": .string(id)]))[0]
        guard answer.code == 142 else {
            try require(answer, visit)
            return redirect("/orders/\(id.percentEncoded)")
        }
        return again("/orders/\(id.percentEncoded)", problem: answer.message)
    }

    // MARK: - Favorites

    func favorites(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        guard visit.isSignedIn else { return redirect("/log-in?next=%2Ffavorites") }
        let answer = try visit.ask(
            .find(
                "FavoriteProduct", ["customer": .pointer("_User", visit.request.userID)], order: "-createdAt",
                limit: 100, include: "product.brand"))[0]
        try require(answer, visit)
        let view = view(visit)
        let products = answer.results.compactMap { favorite -> [String: Any]? in
            guard let product = favorite["product"], product["name"] != nil else { return nil }
            var values = view.card(product)
            values["favorite"] = favorite["objectId"]?.stringValue ?? ""
            return values
        }
        return render(
            "favorites", visit, title: view.words("favorites.title"),
            ["products": products, "isEmpty": products.isEmpty], personal: true)
    }

    /// Adds a product, or removes a favorite.
    func changeFavorite(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        guard visit.isSignedIn else {
            return redirect("/log-in" + Self.nextQuery(visit.next("/favorites")))
        }
        let removed = visit.field("remove")
        let answer: ShopAnswer
        if removed.isEmpty {
            answer = try visit.ask(
                .send("POST", "classes/FavoriteProduct", ["product": .pointer("Product", visit.field("product"))]))[0]
        } else {
            answer = try visit.ask(.send("DELETE", "classes/FavoriteProduct/\(removed.percentEncoded)", [:]))[0]
        }
        // 137: it is a favorite already.
        if answer.code != 137, answer.code != 101 { try require(answer, visit) }
        return redirect(visit.next("/favorites"))
    }
}
