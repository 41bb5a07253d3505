import Foundation
import Messages
import ParseProtocol

/// The second factor of an account, and its photo.
extension Shop {
    private static let factorPath = "/account/factor"
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")

    /// 160 random bits in Base32, as RFC 4226 recommends.
    private static func newSecret() -> String { String((0..<32).map { _ in letters[Int.random(in: 0..<32)] }) }

    /// Sets a second factor up; for one that is set, removes it. The recovery codes are shown once.
    func factor(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, Self.factorPath)
        let options = try signInOptions(&visit)
        guard options.offersSecondFactor else { throw .page(missing(visit)) }
        let user = try account(of: &visit)
        let words = view(visit).words
        let form = visit.kept ?? ShopForm()
        var fields = [
            form.field("code", words("factor.code"), autocomplete: "one-time-code", isRequired: true)
        ]
        if options.hasPassword {
            fields.append(
                form.field(
                    "password", words("account.password"), type: "password", autocomplete: "current-password",
                    isRequired: true))
        }
        var values = form.values(fields)
        values["isOn"] = options.hasSecondFactor
        if options.hasSecondFactor {
            let codes = (visit.request.kept["codes"] ?? "").filter { $0 != " " }.split(separator: ",").map(String.init)
            values["codes"] = codes
            values["hasCodes"] = !codes.isEmpty
        } else {
            let secret = form["secret"].isEmpty ? Self.newSecret() : form["secret"]
            let name = user["email"]?.stringValue ?? user["username"]?.stringValue ?? ""
            values["secret"] = secret
            values["secretGroups"] = stride(from: 0, to: secret.count, by: 4).map { start in
                String(secret.dropFirst(start).prefix(4))
            }.joined(separator: " ")
            values["link"] =
                "otpauth://totp/\(shopName.percentEncoded):\(name.percentEncoded)"
                + "?secret=\(secret.percentEncoded)&issuer=\(shopName.percentEncoded)"
        }
        return render("account/factor", visit, title: words("factor.title"), values, personal: true)
    }

    func setFactor(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, Self.factorPath)
        var form = ShopForm()
        let secret = String(visit.field("secret").prefix(64))
        form.typed["secret"] = secret
        let answer = try changeFactor(&visit, &form) { code in ["secret": .string(secret), "token": .string(code)] }
        guard let answer else { return again(Self.factorPath, form) }
        var page = redirect(Self.factorPath)
        page.kept["codes"] = answer.json["authDataResponse"]?["mfa"]?["recovery"]?.stringValue
        return page
    }

    func removeFactor(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, Self.factorPath)
        var form = ShopForm()
        let answer = try changeFactor(&visit, &form) { code in ["secret": .null, "old": .string(code)] }
        return answer == nil ? again(Self.factorPath, form) : redirect("/account?saved=1")
    }

    /// Changes the second factor after a check of the password.
    /// - Parameter wish: the change in `authData.mfa` with the code of the form.
    /// - Returns: nil when the form has a problem.
    private func changeFactor(
        _ visit: inout ShopVisit, _ form: inout ShopForm, _ wish: (String) -> JSON
    ) throws(ShopStop) -> ShopAnswer? {
        let words = view(visit).words
        let code = visit.field("code").filter { !$0.isWhitespace }
        if code.isEmpty { form.wrong["code"] = words("form.missing") }
        if try signInOptions(&visit).hasPassword { try checkPassword(&visit, &form) }
        guard form.isGood else { return nil }
        let path = "users/\(visit.request.userID.percentEncoded)"
        let change: JSON = ["authData": ["mfa": wish(code)]]
        // The answer repeats the session's token.
        let answer = try visit.ask(.send("PUT", path, change, beginsSession: true))[0]
        guard let problem = answer.code else { return answer }
        if problem == Self.wrongCode {
            form.wrong["code"] = words("factor.wrong")
        } else {
            try require(answer, visit)
        }
        return nil
    }

    // MARK: - The photo

    private static let photoNames = ["image/jpeg": "photo.jpg", "image/png": "photo.png"]

    /// Stores the photo of the form, or removes the account's.
    func setPhoto(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, "/account")
        var photo: JSON = ["__op": "Delete"]
        if visit.field("remove").isEmpty {
            guard let name = Self.photoNames[visit.request.fileType] else {
                return again("/account", problem: view(visit).words("photo.wrong"))
            }
            let upload = ShopAsk.with {
                $0.method = "POST"
                $0.path = "files/\(name)"
                $0.sendsFile = true
            }
            let stored = try visit.ask(upload)[0]
            if stored.status >= 500 { try require(stored, visit) }
            guard let kept = stored.json["name"]?.stringValue else {
                return again("/account", problem: stored.message)
            }
            photo = ["__type": "File", "name": .string(kept)]
        }
        let path = "users/\(visit.request.userID.percentEncoded)"
        try require(try visit.ask(.send("PUT", path, ["photo": photo]))[0], visit)
        return redirect("/account?saved=1")
    }
}
