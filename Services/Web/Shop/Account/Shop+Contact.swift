import Messages
import ParseProtocol

/// The contact data of an account.
extension Shop {
    private static let names = ["firstName", "lastName", "phone"]
    private static let genders = ["female", "male", "other"]
    /// An app has stored the gender in a form of its own, which this form keeps.
    private static let keptGender = "kept"

    func contact(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, "/account/contact")
        let user = try account(of: &visit)
        return contactPage(visit, user, visit.kept ?? stored(user))
    }

    /// The signed-in user.
    func account(of visit: inout ShopVisit) throws(ShopStop) -> JSON {
        let answer = try visit.ask(.get("users/me"))[0]
        try require(answer, visit)
        return answer.json
    }

    private func stored(_ user: JSON) -> ShopForm {
        var form = ShopForm(Self.names, of: user)
        form.typed["email"] = Self.email(of: user)
        let gender = user["gender"] ?? .null
        let known = Self.genders.first { gender.stringValue == $0 }
        form.typed["gender"] = gender.isNull ? "" : known ?? Self.keptGender
        return form
    }

    private static func email(of user: JSON) -> String { user["email"]?.stringValue ?? "" }

    private func contactPage(_ visit: ShopVisit, _ user: JSON, _ form: ShopForm) -> ShopPage {
        let words = view(visit).words
        var values = form.values([
            form.field("firstName", words("address.firstName"), autocomplete: "given-name"),
            form.field("lastName", words("address.lastName"), autocomplete: "family-name"),
            form.field("phone", words("address.phone"), type: "tel", autocomplete: "tel"),
            form.field("email", words("account.email"), type: "email", autocomplete: "email", isRequired: true),
        ])
        let kept = form["gender"] == Self.keptGender ? [Self.keptGender] : []
        values["genders"] = ([""] + Self.genders + kept).map { gender -> [String: Any] in
            [
                "value": gender, "title": words("contact.gender.\(gender.isEmpty ? "none" : gender)"),
                "selected": gender == form["gender"],
            ]
        }
        values["saved"] = visit.query("saved") == "1"
        values["sent"] = visit.query("sent") == "1"
        values["address"] = Self.email(of: user)
        values["isVerified"] = user["emailVerified"] == true
        values["isUnverified"] = user["emailVerified"] == false
        return render(
            "account/contact", visit, title: words("contact.title"), values, personal: true)
    }

    func saveContact(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, "/account/contact")
        let words = view(visit).words
        let user = try account(of: &visit)
        var form = ShopForm(Self.names + ["email", "gender"], sent: visit, words)
        if !form["email"].contains("@") { form.wrong["email"] = words("signUp.email") }
        guard form.isGood else { return again("/account/contact", form) }
        var changes: [String: JSON] = [:]
        for name in Self.names { changes[name] = .textOrNothing(form[name]) }
        let gender = form["gender"]
        if gender.isEmpty || Self.genders.contains(gender) { changes["gender"] = .textOrNothing(gender) }
        let old = Self.email(of: user)
        if form["email"] != old {
            changes["email"] = .string(form["email"])
            // The storefront signs up with the address as user name.
            if user["username"]?.stringValue == old { changes["username"] = .string(form["email"]) }
        }
        let answer = try visit.ask(.send("PUT", "users/\(visit.request.userID.percentEncoded)", .object(changes)))[0]
        switch answer.code {
        case nil: return redirect("/account/contact?saved=1")
        case 125?: form.wrong["email"] = words("signUp.email")
        case 202?, 203?: form.wrong["email"] = words("contact.taken")
        case 142?: form.problem = answer.message
        default: try require(answer, visit)
        }
        return again("/account/contact", form)
    }

    /// Mails the link that verifies the address again.
    func sendVerification(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, "/account/contact")
        let user = try account(of: &visit)
        let address = JSON.string(Self.email(of: user))
        let answer = try visit.ask(.send("POST", "verificationEmailRequest", ["email": address]))[0]
        guard !answer.isSuccess else { return redirect("/account/contact?sent=1") }
        if answer.status >= 500 { try require(answer, visit) }
        var form = stored(user)
        form.problem = answer.message
        return again("/account/contact", form)
    }
}
