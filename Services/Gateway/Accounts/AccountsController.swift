import MessageBus
import Messages
import ParseProtocol

/// Sign-up, sign-in and sessions. The controller is thin: `users` makes every decision.
struct AccountsController: Sendable {
    let services: ServiceClient
    let configuration: GatewayConfiguration
    /// Nil when caching is off.
    private let cache: ReadCache?
    private let refused = SignInRefusalDelays()

    init(services: ServiceClient, configuration: GatewayConfiguration, cache: ReadCache?) {
        self.services = services
        self.configuration = configuration
        self.cache = cache
    }

    func signUp(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        if let hooks = try await HookedAccounts(request.hooks, principal) {
            return try await signUp(request, principal, hooks)
        }
        let (account, answer) = try await ask(UsersCalls.signUp, request, request.document, principal)
        return ParseResponse(
            status: account.created ? 201 : 200, body: answer,
            location: "\(configuration.publicURL)/users/\(account.objectID)")
    }

    func logIn(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let parameters = try parameters(request)
        let hooks = try await HookedAccounts(request.hooks, principal)
        if let hooks, hooks.has(.beforeLogin) {
            // The webhook runs after the password check, so that only the right user learns of its refusal. The check
            // leaves out `authData`, so that it does not use up a second factor.
            let question = try JSON(clientText: parameters).removing(["authData"])
            let user = try await ask(UsersCalls.verifyPassword, request, question.serialized, principal).account
            try await hooks.beforeLogin(user.objectID)
        }
        let (account, answer) = try await ask(UsersCalls.logIn, request, parameters, principal)
        try await hooks?.afterLogin(account.objectID, answer)
        return ParseResponse(body: answer)
    }

    /// Checks a password without signing in.
    func verifyPassword(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        ParseResponse(
            body: try await ask(UsersCalls.verifyPassword, request, try parameters(request), principal).answer)
    }

    /// Requests the challenge for a sign-in with a second factor.
    func challenge(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        ParseResponse(body: try await ask(UsersCalls.challenge, request, request.document, principal).answer)
    }

    /// Creates a session for any user; master key only.
    func logInAs(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        return ParseResponse(
            body: try await ask(UsersCalls.logInAs, request, try parameters(request), principal).answer)
    }

    /// The parameters: a GET has them in the query string, a POST in the query string or in the body.
    private func parameters(_ request: ParseRequest) throws(ParseError) -> [UInt8] {
        let isQuery = request.method == .get || (request.body.isEmpty && request.tunnelled == nil)
        return isQuery ? JSON.object(try request.options(asTexts: true)).serialized : request.document
    }

    /// Requests a mail with a link. The response does not reveal whether an account has the address, unless a trigger
    /// refuses it.
    func requestMail(
        _ link: MailedLink, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard let email = try request.object["email"], !email.isNull, email != "" else {
            throw ParseError(.emailMissing, "you must provide an email")
        }
        guard case .string(let address) = email else {
            throw ParseError(.invalidEmailAddress, "you must provide a valid email string")
        }
        try await requestMail(link, to: address, for: request, principal)
        return ParseResponse([:])
    }

    func requestMail(
        _ link: MailedLink, to address: String, for request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) {
        if link == .passwordReset, let hook = try await HookedReset(request.hooks, principal) {
            return try await requestReset(to: address, for: request, hook)
        }
        let message = MailRequest.with {
            $0.link = link
            $0.email = address
        }
        _ = try await services.write(
            UsersCalls.requestMail, message, for: .of(network: request.network), in: request.call)
    }

    func logOut(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        guard !principal.sessionToken.isEmpty else { return ParseResponse([:]) }
        guard let hooks = try await HookedSessions(request.hooks, principal) else {
            return ParseResponse(body: try await ask(UsersCalls.logOut, request, request.document, principal).answer)
        }
        let reply = try await own(UsersCalls.sessionMe, request, principal).body
        let session = try JSON(reply: reply, in: request.call)
        let body = try await hooks.logOut(of: session)
        let answer = try await ask(UsersCalls.logOut, request, request.document, principal).answer
        try await hooks.loggedOut(body)
        return ParseResponse(body: answer)
    }

    func me(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let look = request.prepared?.look ?? cache?.lookAccount(request, principal) ?? .unfit
        if case .found(let answer) = look { return answer }
        let answer = try await own(UsersCalls.me, request, principal)
        guard case .missing(let missing) = look, let cache else { return answer }
        return cache.answer(account: answer.body, to: missing)
    }

    func currentSession(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        try await own(UsersCalls.sessionMe, request, principal)
    }

    /// Calls `users` about the session of the request.
    private func own(
        _ call: Call<AccountRequest, AccountReply>, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard !principal.sessionToken.isEmpty else { throw .invalidSession }
        let reply = try await services.read(
            call, accountRequest(request, principal), documents: [Array("{}".utf8)], for: principal,
            in: request.call)
        return ParseResponse(body: try reply.document)
    }

    func ask(
        _ call: Call<AccountRequest, AccountReply>, _ request: ParseRequest, _ document: [UInt8],
        _ principal: Principal
    ) async throws(ParseError) -> (account: AccountReply, answer: [UInt8]) {
        if !principal.master { try refused.admit(request) }
        do throws(ParseError) {
            let reply = try await services.write(
                call, accountRequest(request, principal), documents: [document], for: principal,
                in: request.call)
            return (try reply.message, try reply.document)
        } catch {
            if !principal.master { await refused.slowDown(error, of: request) }
            throw error
        }
    }

    private func accountRequest(_ request: ParseRequest, _ principal: Principal) -> AccountRequest {
        AccountRequest.with {
            // At sign-in the token was not resolved, so an invalid one does no harm.
            $0.previousSessionToken =
                principal.sessionToken.isEmpty ? request.credentials.sessionToken ?? "" : principal.sessionToken
        }
    }
}
