import Logging
import Messages
import ParseProtocol

/// From a request to the controller that answers it: the table of every route.
struct ParseRouter: Sendable {
    let configuration: GatewayConfiguration
    let principals: PrincipalResolver
    let objects: ObjectsController
    let accounts: AccountsController
    let functions: FunctionsController
    let intake: IntakeController
    let schemas: SchemasController
    let exports: ExportController
    let imports: ImportController
    let config: ConfigController
    let files: FilesController
    let push: PushController
    let system: SystemController
    let pages: PagesController
    let logger: Logger

    /// Answers a request from the wire. Never throws: every error is an answer.
    func answer(_ request: ParseRequest) async -> ParseResponse {
        var request = request
        do throws(ParseError) {
            guard let path = withoutMount(request.path) else { return try await intake.sentry(request) }
            request.path = path
            if path == ["health"] { return system.health() }
            // Links from mails: whoever follows one has no keys, but a token.
            if path.first == "apps" { return await pages.answer(request) }
            // A payment provider has no keys of the shop's; its signature is checked by the service that has the secret.
            if path == ["webhooks", "stripe"] { return try await intake.stripe(request) }
            if isDownload(request) { return try await files.download(request) }
            try untunnel(&request)
            guard let admitted = principals.admit(request.credentials, from: request.clientAddress) else {
                return .forbidden()
            }
            // Signing in ignores an old token, so that an app with an expired session can get a new one.
            let principal =
                ["login", "verifyPassword"].contains(path.joined(separator: "/"))
                ? admitted
                : try await principals.signIn(admitted, request.credentials, trace: request.requestId)
            return try await route(request, principal)
        } catch {
            return response(to: error)
        }
    }

    /// Answers a request of a batch, whose credentials were checked with the batch's.
    /// - Throws: `ParseError`.
    func answer(inBatch request: ParseRequest, _ principal: Principal) async -> ParseResponse {
        do throws(ParseError) {
            var request = request
            guard let path = withoutMount(request.path) else {
                throw ParseError(.invalidJSON, "cannot route batch path /\(request.path.joined(separator: "/"))")
            }
            request.path = path
            return try await route(request, principal)
        } catch {
            return response(to: error)
        }
    }

    private func response(to error: ParseError) -> ParseResponse {
        // Unknown routes are 404 for health checks of SDKs; the code says what it is.
        error == Self.noRoute ? ParseResponse(status: 404, error.body) : ParseResponse(error)
    }

    static let noRoute = ParseError(.commandUnavailable, "There is no such route.")

    /// The path under the mount, or under `/1`, where hosted Parse was.
    func withoutMount(_ path: [Substring]) -> [Substring]? {
        if path.first == "1" { return Array(path.dropFirst()) }
        guard path.starts(with: configuration.mount) else { return nil }
        return Array(path.dropFirst(configuration.mount.count))
    }

    private func isDownload(_ request: ParseRequest) -> Bool {
        request.method == .get && request.path.first == "files"
    }

    /// Whether the body is a file, which may be larger than other bodies.
    func isUpload(_ request: ParseRequest) -> Bool {
        request.method == .post && withoutMount(request.path)?.first == "files"
    }

    /// A body may carry credentials, options and the real verb, whatever its content type says (PARSE_PROTOCOL section 1.2).
    private func untunnel(_ request: inout ParseRequest) throws(ParseError) {
        // A client that knows its headers sends the application id there; its body is passed on as it is.
        guard request.method == .post, request.credentials.applicationId == nil || mayOverrideMethod(request.body),
            request.path.first != "import"
        let isFile = request.path.first == "files"
        guard request.method == .post,
            request.credentials.applicationId == nil || (!isFile && mayOverrideMethod(request.body))
        else { return }
        // The bytes of a file without an application id are no JSON that somebody got wrong.
        if isFile, request.body.first != UInt8(ascii: "{") { return }
        var body = try request.object
        if let method = try request.credentials.take(from: &body) {
            guard let method = ParseRequest.Method(rawValue: method.uppercased()) else {
                throw ParseError(.invalidJSON, "_method is not a method of the protocol.")
            }
            request.method = method
        }
        request.tunnelled = body
    }

    /// Header clients may still send `_method` in a body (Swift's POST queries); looking for the text avoids a decode.
    private func mayOverrideMethod(_ body: [UInt8]) -> Bool {
        body.contains(text: "\"_method\"")
    }

    private func route(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let path = request.path
        switch (request.method, path.first, path.count) {
        case (_, "classes", 2...3):
            return try await object(request, String(path[1]), path.count == 3 ? String(path[2]) : nil, principal)
        case (.get, "users", 2) where path[1] == "me": return try await accounts.me(request, principal)
        case (.get, "sessions", 2) where path[1] == "me": return try await accounts.currentSession(request, principal)
        case (_, "users", 1...2):
            return try await object(request, "_User", path.dropFirst().first.map(String.init), principal)
        case (_, "roles", 1...2):
            return try await object(request, "_Role", path.dropFirst().first.map(String.init), principal)
        case (_, "sessions", 1...2):
            return try await object(request, "_Session", path.dropFirst().first.map(String.init), principal)
        case (_, "installations", 1...2):
            return try await object(request, "_Installation", path.dropFirst().first.map(String.init), principal)
        case (.post, "login", 1), (.get, "login", 1): return try await accounts.logIn(request, principal)
        case (.post, "logout", 1): return try await accounts.logOut(request, principal)
        case (.post, "verifyPassword", 1), (.get, "verifyPassword", 1):
            return try await accounts.verifyPassword(request, principal)
        case (.post, "loginAs", 1): return try await accounts.logInAs(request, principal)
        // Every session here can be revoked: there is nothing to upgrade.
        case (.post, "upgradeToRevocableSession", 1): return try await accounts.currentSession(request, principal)
        case (.post, "requestPasswordReset", 1): return try await accounts.requestMail(.passwordReset, request)
        case (.post, "verificationEmailRequest", 1): return try await accounts.requestMail(.emailVerification, request)
        case (.post, "functions", 2): return try await functions.call(String(path[1]), request, principal)
        case (.post, "batch", 1): return try await BatchController(router: self).run(request, principal)
        case (.post, "files", 1...2): return try await files.upload(request, principal)
        case (.delete, "files", 1...2): return try await files.delete(request, principal)
        case (.post, "events", 2): return try await intake.event(String(path[1]), request, principal)
        case (.get, "export", 2): return try await exports.run(String(path[1]), request, principal)
        case (.post, "import", 2): return try await imports.run(String(path[1]), request, principal)
        case (_, "schemas", 1...2), (.delete, "purge", 2), (.get, "serverInfo", 1):
        case (.get, "config", 1): return try await config.get(request, principal)
        case (.put, "config", 1): return try await config.put(request, principal)
        case (.post, "push", 1), (_, "push_audiences", 1...2):
            guard principal.master else { return .forbidden("unauthorized: master key is required") }
            return path[0] == "push"
                ? try await push.send(request, principal) : try await push.audiences(request, principal)
        case (.get, "serverInfo", 1):
            guard principal.master else { return .forbidden("unauthorized: master key is required") }
            return try await managed(request, principal)
        default:
            if let first = path.first, Self.notBuilt.contains(first) { throw .notBuilt("/\(first)") }
            throw Self.noRoute
        }
    }

    /// What the master key manages.
    private func managed(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let className = request.path.dropFirst().first.map(String.init)
        switch (request.method, request.path.first, className) {
        case (.get, "serverInfo", nil): return system.serverInfo()
        case (.get, "schemas", nil): return try await schemas.list(request, principal)
        case (.get, "schemas", let name?): return try await schemas.get(name, request, principal)
        case (.post, "schemas", let name): return try await schemas.save(.create, name, request, principal)
        case (.put, "schemas", let name?): return try await schemas.save(.change, name, request, principal)
        case (.delete, "schemas", let name?): return try await schemas.drop(name, request, principal)
        case (.delete, "purge", let name?): return try await schemas.purge(name, request, principal)
        default: throw Self.noRoute
        }
    }

    /// Routes of the protocol that answer that they are not there yet; README's status table lists them.
    private static let notBuilt: Set<Substring> = [
        "files", "aggregate", "config", "push", "push_audiences", "jobs", "hooks", "cloud_code",
        "challenge", "validate_purchase", "scriptlog", "security",
        "files", "schemas", "purge", "aggregate", "push", "push_audiences", "jobs", "hooks", "cloud_code",
        "schemas", "purge", "aggregate", "config", "push", "push_audiences", "jobs", "hooks", "cloud_code",
        "files", "schemas", "purge", "aggregate", "config", "jobs", "hooks", "cloud_code",
        "loginAs", "verifyPassword", "requestPasswordReset", "verificationEmailRequest", "challenge",
        "upgradeToRevocableSession", "validate_purchase", "scriptlog", "security",
    ]

    private func object(
        _ request: ParseRequest, _ className: String, _ objectId: String?, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard Names.isClassName(className) || principal.master && Owners.masterClasses.contains(className) else {
            throw ParseError(
                className.hasPrefix("_") ? .operationForbidden : .invalidClassName,
                className.hasPrefix("_")
                    ? "Clients aren't allowed to use the class \(className)."
                    : "Invalid class name: \(className.prefix(128))")
        }
        // Everybody's sessions are nobody's business: without a user there is nothing to list (PARSE_PROTOCOL section 5.2).
        if className == "_Session", principal.userID.isEmpty, !principal.master { throw .invalidSession }
        switch (request.method, objectId) {
        case (.get, nil): return try await objects.find(className, request, principal)
        case (.get, let id?): return try await objects.get(className, id, request, principal)
        case (.post, nil) where className == "_User": return try await accounts.signUp(request, principal)
        case (.post, nil): return try await objects.create(className, request, principal)
        case (.put, let id?): return try await objects.update(className, id, request, principal)
        case (.delete, let id?): return try await objects.delete(className, id, request, principal)
        default: throw Self.noRoute
        }
    }
}
