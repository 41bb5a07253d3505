import HTTPTypes
import Messages
import ParseProtocol

/// `/apps/…`: the pages behind links in mails. They work without scripts and without keys: the link's token authorizes
/// the request.
///
/// A page shows nothing that a client sent, except a link's token of 32 hex digits. `web` renders it.
struct PagesController: Sendable {
    /// The names of templates in `Services/Web/Pages`.
    private enum Page: String {
        /// A form for a new password.
        case choosePassword = "choose-password"
        case passwordChanged = "password-changed"
        /// The link is not valid; a form requests another mail.
        case passwordLinkVoid = "password-link-void"
        case emailVerified = "email-verified"
        case emailAlreadyVerified = "email-already-verified"
        case verificationLinkVoid = "verification-link-void"
        /// A mail was requested. The page is the same whether or not one is sent.
        case mailRequested = "mail-requested"
        /// An error that does not concern the link.
        case problem
    }

    let accounts: AccountsController
    let configuration: GatewayConfiguration

    /// A form holds a token and two passwords.
    private static let formBytesMax = 16 << 10

    func answer(_ request: ParseRequest) async -> ParseResponse {
        // Otherwise a link would be used up whose page cannot be shown.
        guard Self.isScript(request) || !isWebAway else { return .unavailablePage }
        do throws(ParseError) {
            return try await route(request)
        } catch {
            if Self.isScript(request) { return ParseResponse(error) }
            return await page(.problem, for: request, Self.status(of: error), ["message": error.message])
        }
    }

    private func route(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let path = request.path.dropFirst()
        let isOurs = path.first.map { $0 == configuration.applicationId } ?? false
        switch (request.method, path.last ?? "", path.count) {
        case (.get, "verify_email", 2) where isOurs: return try await verifyEmail(request)
        case (.post, "resend_verification_email", 2) where isOurs:
            return try await requestMail(.emailVerification, request)
        case (.get, "request_password_reset", 2) where isOurs, (.get, "choose_password", 1):
            return try await passwordForm(request)
        case (.post, "request_password_reset", 2) where isOurs, (.post, "choose_password", 1):
            return try await choosePassword(request)
        default:
            return await page(.problem, for: request, 404, ["message": "There is no such page."])
        }
    }

    private func verifyEmail(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let token = Self.token(try Self.pairs(request.query ?? ""))
        switch try await accounts.follow(UsersCalls.verifyEmail, token, uses: true, for: request) {
        case .done: return await page(.emailVerified, for: request)
        case .alreadyVerified: return await page(.emailAlreadyVerified, for: request)
        case .void, .UNRECOGNIZED: return await page(.verificationLinkVoid, for: request, 404)
        }
    }

    private func passwordForm(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let token = Self.token(try Self.pairs(request.query ?? ""))
        guard try await accounts.follow(UsersCalls.checkReset, token, uses: false, for: request) == .done else {
            return await page(.passwordLinkVoid, for: request, 404)
        }
        return await page(.choosePassword, for: request, 200, ["token": token])
    }

    private func choosePassword(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let form = try Self.form(request)
        if form["token"] == nil, form["email"] != nil { return try await requestMail(.passwordReset, request) }
        let token = Self.token(form)
        let password = form["new_password"] ?? ""
        if Self.isScript(request) { return try await changePassword(form, token, password, request) }
        // A client that submits for the user has already asked for the password twice.
        guard password == form["repeated_password"] ?? password else {
            return await page(
                .choosePassword, for: request, 400, ["token": token, "error": "The two passwords are not the same."])
        }
        do throws(ParseError) {
            let outcome = try await accounts.follow(
                UsersCalls.resetPassword, token, password: password, uses: true, for: request)
            return await outcome == .done
                ? page(.passwordChanged, for: request) : page(.passwordLinkVoid, for: request, 404)
        } catch {
            guard error.code == .validationError else { throw error }
            return await page(.choosePassword, for: request, 400, ["token": token, "error": error.message])
        }
    }

    /// `changePassword` for a page's script, with the responses of Parse Server.
    /// - Throws: `.otherCause` (-1), `.validationError` (142) and `.passwordMissing` (201).
    private func changePassword(
        _ form: [String: String], _ token: String, _ password: String, _ request: ParseRequest
    ) async throws(ParseError) -> ParseResponse {
        guard form["token"]?.isEmpty == false else { throw ParseError(.otherCause, "Missing token") }
        guard !password.isEmpty else { throw ParseError(.passwordMissing, "Missing password") }
        guard password == form["repeated_password"] ?? password else {
            throw ParseError(.validationError, "The two passwords are not the same.")
        }
        let outcome = try await accounts.follow(
            UsersCalls.resetPassword, token, password: password, uses: true, for: request)
        guard outcome == .done else {
            throw ParseError(.otherCause, "Failed to reset password: username / email / token is invalid")
        }
        return ParseResponse(.string("Password successfully reset"))
    }

    /// Whether a page's script sent the request, by the header that jQuery and similar libraries send.
    private static func isScript(_ request: ParseRequest) -> Bool {
        request.headers[requestedWithName]?.lowercased() == "xmlhttprequest"
    }

    private static let requestedWithName = headerName("X-Requested-With")

    private func requestMail(_ link: MailedLink, _ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let page: Page = link == .passwordReset ? .passwordLinkVoid : .verificationLinkVoid
        do throws(ParseError) {
            let address = try Self.form(request)["email"] ?? ""
            try await accounts.requestMail(link, to: address, for: request, .of(network: request.network))
            return await Self.isScript(request) ? ParseResponse([:]) : self.page(.mailRequested, for: request)
        } catch {
            guard error.code == .invalidEmailAddress, !Self.isScript(request) else { throw error }
            return await self.page(page, for: request, 400, ["error": "That is no e-mail address."])
        }
    }

    /// A link's token, or an empty text when it is malformed.
    private static func token(_ values: [String: String]) -> String {
        let token = values["token"] ?? ""
        let isToken =
            token.utf8.count == 32
            && token.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
        return isToken ? token : ""
    }

    private static func form(_ request: ParseRequest) throws(ParseError) -> [String: String] {
        try request.pageForm(bytesMax: formBytesMax)
    }

    private static func pairs(_ text: String) throws(ParseError) -> [String: String] {
        try ParseRequest.pairs(Substring(text).utf8)
    }

    private static func status(of error: ParseError) -> Int {
        switch error.code {
        case .connectionFailed, .requestLimitExceeded: 429
        case .serviceUnavailable, .timeout: 503
        case .internalServerError: 500
        default: 400
        }
    }

    private var isWebAway: Bool {
        accounts.services.broker.services[WebCalls.page.service]?.replicas.isEmpty ?? true
    }

    /// A page that `web` renders.
    private func page(
        _ page: Page, for request: ParseRequest, _ status: Int = 200, _ values: [String: String] = [:]
    ) async -> ParseResponse {
        let base = configuration.publicURL + "/apps"
        let message = WebPageRequest.with {
            $0.page = page.rawValue
            $0.values = values.merging([
                "choosePassword": "\(base)/choose_password",
                "requestReset": "\(base)/\(configuration.applicationId)/request_password_reset",
                "resend": "\(base)/\(configuration.applicationId)/resend_verification_email",
            ]) { own, _ in own }
        }
        do throws(ParseError) {
            let reply = try await accounts.services.read(
                WebCalls.page, message, for: .of(network: request.network), in: request.call)
            var response = ParseResponse(status: status, html: try reply.message.html)
            response.headers.append(contentsOf: ParseResponse.pageHeaders)
            return response
        } catch {
            return .unavailablePage
        }
    }
}

extension AccountsController {
    /// Calls `users` about a link from a mail.
    /// - Parameter uses: whether the call uses the link up.
    func follow(
        _ call: Call<LinkRequest, LinkReply>, _ token: String, password: String = "", uses: Bool,
        for request: ParseRequest
    ) async throws(ParseError) -> LinkReply.Outcome {
        guard !token.isEmpty else { return .void }
        let message = LinkRequest.with {
            $0.token = token
            $0.password = password
        }
        let reply =
            uses
            ? try await services.write(call, message, for: .of(network: request.network), in: request.call)
            : try await services.read(call, message, for: .init(), in: request.call)
        return try reply.message.outcome
    }
}
