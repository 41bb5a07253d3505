import MessageBus
import Messages
import ParseProtocol

/// Sign-up, sign-in and sessions: thin, since `users` decides everything.
struct AccountsController: Sendable {
    let services: ServiceClient
    let configuration: GatewayConfiguration

    func signUp(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let (account, answer) = try await ask("users.signup.v1", request, request.document, principal)
        guard account.created else { return ParseResponse(body: answer) }
        return ParseResponse(
            status: 201, body: answer, location: "\(configuration.publicURL)/users/\(account.objectID)")
    }

    func logIn(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        // GET carries its parameters in the query string, and so may POST instead of in the body.
        let isQuery = request.method == .get || (request.body.isEmpty && request.tunnelled == nil)
        let parameters = isQuery ? JSON.object(try request.options(asTexts: true)).serialized : request.document
        return ParseResponse(body: try await ask("users.login.v1", request, parameters, principal).answer)
    }

    func logOut(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        guard !principal.sessionToken.isEmpty else { return ParseResponse([:]) }
        return ParseResponse(body: try await ask("users.logout.v1", request, request.document, principal).answer)
    }

    func me(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        try await own("users.me.v1", request, principal)
    }

    func currentSession(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        try await own("users.sessionMe.v1", request, principal)
    }

    /// Something of the session the request came with.
    private func own(
        _ kind: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard !principal.sessionToken.isEmpty else { throw .invalidSession }
        let reply = try await services.read(
            kind, accountRequest(request), documents: [Array("{}".utf8)], for: principal, trace: request.requestId)
        return ParseResponse(body: try reply.document)
    }

    private func ask(
        _ kind: String, _ request: ParseRequest, _ document: [UInt8], _ principal: Principal
    ) async throws(ParseError) -> (account: AccountReply, answer: [UInt8]) {
        let reply = try await services.write(
            kind, accountRequest(request), documents: [document], for: principal, trace: request.requestId)
        return (try reply.message(), try reply.document)
    }

    private func accountRequest(_ request: ParseRequest) -> AccountRequest {
        AccountRequest.with { $0.clientAddress = request.clientAddress?.ipAddress ?? "" }
    }
}
