import Messages
import ParseProtocol

/// Log-in at identity providers and by the code of a second factor.
extension Shop {
    /// What the service `users` offers, to the shopper and to all.
    struct SignInOptions {
        /// The names in `authData`.
        let providers: [String]
        let offersSecondFactor: Bool
        let hasSecondFactor: Bool
        let hasPassword: Bool
    }

    /// The error of a log-in that needs the code of a second factor.
    static let codeWanted: Int64 = 211
    /// The error of a wrong code.
    static let wrongCode: Int64 = 141
    private static let codePath = "/log-in/code"

    func signInOptions(_ visit: inout ShopVisit) throws(ShopStop) -> SignInOptions {
        let options = try visit.ask(.webSignIn(["step": "options"]))[0].json
        return SignInOptions(
            providers: (options["providers"]?.arrayValue ?? []).compactMap(\.stringValue),
            offersSecondFactor: options["secondFactor"] == true, hasSecondFactor: options["hasSecondFactor"] == true,
            hasPassword: options["hasPassword"] != false)
    }

    static func providerName(_ provider: String) -> String {
        ["apple": "Apple", "facebook": "Facebook", "google": "Google", "twitter": "X"][provider] ?? provider
    }

    // MARK: - Providers

    /// Leads to the page of a provider, which returns to `/log-in/<provider>/back`.
    func beginWebSignIn(_ visit: inout ShopVisit, _ provider: String) throws(ShopStop) -> ShopPage {
        let next = visit.next("/account")
        let start = try visit.ask(.webSignIn(["step": "begin", "provider": .string(provider)]))[0]
        // 252: it is not configured.
        if start.code == 252 { throw .page(missing(visit)) }
        guard start.isSuccess, let url = start.json["url"]?.stringValue else {
            return logInAgain(visit, next, start)
        }
        var page = redirect(url)
        page.leaves = true
        page.kept = (start.json["kept"]?.objectValue ?? [:]).compactMapValues(\.stringValue)
        page.kept["next"] = next
        return page
    }

    /// The browser returns from the provider. The log-in counts in the browser alone that began it.
    func endWebSignIn(_ visit: inout ShopVisit, _ provider: String) throws(ShopStop) -> ShopPage {
        let kept = visit.request.kept
        let next = kept["next"] ?? "/account"
        guard kept["state"] != nil else { return logInAgain(visit, next, nil) }
        let end = try visit.ask(
            .webSignIn([
                "step": "end", "provider": .string(provider), "query": .texts(visit.request.query),
                "kept": .texts(kept),
            ]))[0]
        guard end.isSuccess, let authData = end.json["authData"] else { return logInAgain(visit, next, end) }
        let account: JSON = ["authData": authData]
        let answer = try visit.ask(.send("POST", "users", account, beginsSession: true))[0]
        if answer.code == Self.codeWanted { return askForCode("users", account, next: next) }
        return answer.isSuccess ? redirect(next) : logInAgain(visit, next, answer)
    }

    /// - Parameter answer: the refusal; nil when the browser has not begun a log-in, or too long ago.
    private func logInAgain(_ visit: ShopVisit, _ next: String, _ answer: ShopAnswer?) -> ShopPage {
        let words = view(visit).words
        let isAway = answer.map { $0.status >= 500 } ?? false
        return again(
            "/log-in" + Self.nextQuery(next), problem: words(isAway ? "logIn.unavailable" : "logIn.failed"))
    }

    // MARK: - The code

    /// Keeps a log-in for the page that asks for the code.
    /// - Parameters:
    ///   - path: of the log-in's request.
    ///   - account: its body.
    func askForCode(_ path: String, _ account: JSON, next: String, problem: String? = nil) -> ShopPage {
        var page = redirect(Self.codePath)
        page.kept = ["path": path, "account": account.serializedText, "next": next]
        page.kept["problem"] = problem
        return page
    }

    func code(_ visit: ShopVisit) -> ShopPage {
        var kept = visit.request.kept
        guard kept["account"] != nil else { return redirect("/log-in") }
        let words = view(visit).words
        var form = ShopForm()
        form.problem = kept.removeValue(forKey: "problem")
        var page = simplePage(
            visit, form,
            [form.field("code", words("factor.code"), autocomplete: "one-time-code", isRequired: true)], "code",
            action: Self.codePath)
        page.kept = kept
        return page
    }

    func sendCode(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let kept = visit.request.kept
        guard let path = kept["path"], let account = kept["account"].flatMap({ try? JSON(parsing: $0) }) else {
            return redirect("/log-in")
        }
        let next = kept["next"] ?? "/account"
        let words = view(visit).words
        let code = visit.field("code").filter { !$0.isWhitespace }
        guard !code.isEmpty else { return askForCode(path, account, next: next, problem: words("form.missing")) }
        var authData = account["authData"] ?? [:]
        authData["mfa"] = ["token": .string(code)]
        var proven = account
        proven["authData"] = authData
        let answer = try visit.ask(.send("POST", path, proven, beginsSession: true))[0]
        if answer.isSuccess { return redirect(next) }
        if answer.status >= 500 { try require(answer, visit) }
        let problem = answer.code == Self.wrongCode ? words("factor.wrong") : answer.message
        return askForCode(path, account, next: next, problem: problem)
    }
}

extension JSON {
    fileprivate static func texts(_ texts: [String: String]) -> JSON { .object(texts.mapValues { .string($0) }) }
}
