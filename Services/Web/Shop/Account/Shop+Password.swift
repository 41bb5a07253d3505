import Messages
import ParseProtocol

/// A new password, and the end of an account.
extension Shop {
    private static let passwordMin = 6

    /// A page with one form, which is sent to the page itself.
    func simplePage(
        _ visit: ShopVisit, _ form: ShopForm, _ fields: [[String: Any]], _ name: String, action: String? = nil
    ) -> ShopPage {
        let words = view(visit).words
        let title = words("\(name).title")
        var values = form.values(fields)
        values["action"] = action ?? "/account/\(name)"
        values["heading"] = title
        values["text"] = words("\(name).text")
        values["button"] = words("\(name).send")
        return render("account/form", visit, title: title, values, personal: true)
    }

    // MARK: - A new password

    func password(_ visit: ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, "/account/password")
        return passwordPage(visit, visit.kept ?? ShopForm())
    }

    private func passwordPage(_ visit: ShopVisit, _ form: ShopForm) -> ShopPage {
        let words = view(visit).words
        let fields = [
            form.field(
                "password", words("password.present"), type: "password", autocomplete: "current-password",
                isRequired: true),
            form.field(
                "newPassword", words("password.new"), type: "password", autocomplete: "new-password",
                isRequired: true),
        ]
        return simplePage(visit, form, fields, "password")
    }

    /// Sets a new password. The server ends all sessions and begins a new one for this browser.
    func changePassword(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, "/account/password")
        let words = view(visit).words
        let new = visit.request.form["newPassword"] ?? ""
        var form = ShopForm()
        if new.count < Self.passwordMin { form.wrong["newPassword"] = words("signUp.password") }
        try checkPassword(&visit, &form)
        guard form.isGood else { return again("/account/password", form) }
        let path = "users/\(visit.request.userID.percentEncoded)"
        let answer = try visit.ask(.send("PUT", path, ["password": .string(new)], beginsSession: true))[0]
        guard answer.code == 142 else {
            try require(answer, visit)
            return redirect("/account?saved=1")
        }
        form.wrong["newPassword"] = answer.message
        return again("/account/password", form)
    }

    /// Asks `users` whether the field `password` has the password of the account, unless the form has other problems.
    func checkPassword(_ visit: inout ShopVisit, _ form: inout ShopForm) throws(ShopStop) {
        let words = view(visit).words
        let password = visit.request.form["password"] ?? ""
        if password.isEmpty { form.wrong["password"] = words("form.missing") }
        guard form.isGood else { return }
        let user = try account(of: &visit)
        let name: JSON = user["username"] ?? user["email"] ?? ""
        let answer = try visit.ask(
            .send("POST", "verifyPassword", ["username": name, "password": .string(password)]))[0]
        guard let code = answer.code else { return }
        if answer.status >= 500 { try require(answer, visit) }
        form.wrong["password"] = code == 101 ? words("password.wrong") : answer.message
    }

    // MARK: - A forgotten password

    func forgotten(_ visit: ShopVisit) -> ShopPage {
        guard visit.query("sent") == "1" else { return forgottenPage(visit, visit.kept ?? ShopForm()) }
        let words = view(visit).words
        return notice(visit, words("forgotten.sent"), words("forgotten.sentText"), "/log-in", words("logIn.title"))
    }

    private func forgottenPage(_ visit: ShopVisit, _ form: ShopForm) -> ShopPage {
        let words = view(visit).words
        let fields = [
            form.field("email", words("account.email"), type: "email", autocomplete: "username", isRequired: true)
        ]
        return simplePage(visit, form, fields, "forgotten")
    }

    /// Asks for the mail with the link. The response is the same for an address without an account.
    func requestReset(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let words = view(visit).words
        var form = ShopForm(["email"], sent: visit, words)
        if !form["email"].contains("@") { form.wrong["email"] = words("signUp.email") }
        guard form.isGood else { return again("/account/forgotten", form) }
        let answer = try visit.ask(.send("POST", "requestPasswordReset", ["email": .string(form["email"])]))[0]
        guard let code = answer.code else { return redirect("/account/forgotten?sent=1") }
        if answer.status >= 500 { try require(answer, visit) }
        form.wrong["email"] = code == 125 ? words("signUp.email") : answer.message
        return again("/account/forgotten", form)
    }

    // MARK: - The end of an account

    func deletion(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, "/account/delete")
        let words = view(visit).words
        let form = visit.kept ?? ShopForm()
        let field = form.field(
            "password", words("account.password"), type: "password", autocomplete: "current-password",
            isRequired: true)
        return simplePage(visit, form, try signInOptions(&visit).hasPassword ? [field] : [], "delete")
    }

    func deleteAccount(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, "/account/delete")
        var form = ShopForm()
        // A customer who logs in at a provider has no password.
        if try signInOptions(&visit).hasPassword { try checkPassword(&visit, &form) }
        guard form.isGood else { return again("/account/delete", form) }
        let answer = try visit.ask(.send("DELETE", "users/\(visit.request.userID.percentEncoded)", [:]))[0]
        // 142: a payment is not decided yet.
        guard answer.code == 142 else {
            try require(answer, visit)
            var page = redirect("/account/deleted")
            page.endsSession = true
            return page
        }
        form.problem = answer.message
        return again("/account/delete", form)
    }
}
