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
    let sentry: SentryController
    let system: SystemController
    let meter: RequestMeter
    let logger: Logger

    /// Answers a request from the wire. Never throws: every error is an answer.
    func answer(_ request: ParseRequest) async -> ParseResponse {
        var request = request
        let response = await answered(&request)
        if request.isCounted { meter.count(request, response) }
        return response
    }

    private func answered(_ request: inout ParseRequest) async -> ParseResponse {
        do throws(ParseError) {
            guard let path = withoutMount(request.path) else { return try await sentry.report(request) }
            request.path = path
            if path == ["health"] { return system.health() }
            request.isCounted = true
            try untunnel(&request)
            guard let admitted = principals.admit(request.credentials, from: request.clientAddress) else {
                return .forbidden()
            }
            // Signing in ignores an old token, so that an app with an expired session can get a new one.
            let principal =
                path == ["login"]
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

    /// A body may carry credentials, options and the real verb, whatever its content type says (PARSE_PROTOCOL section 1.2).
    private func untunnel(_ request: inout ParseRequest) throws(ParseError) {
        // A client that knows its headers sends the application id there; its body is passed on as it is.
        guard request.method == .post, request.credentials.applicationId == nil || mayOverrideMethod(request.body)
        else { return }
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
        case (.post, "functions", 2): return try await functions.call(String(path[1]), request, principal)
        case (.post, "batch", 1): return try await BatchController(router: self).run(request, principal)
        case (.post, "events", 2): return try await intake.event(String(path[1]), request, principal)
        case (.get, "serverInfo", 1):
            guard principal.master else { return .forbidden("unauthorized: master key is required") }
            return system.serverInfo()
        default:
            if let first = path.first, Self.notBuilt.contains(first) { throw .notBuilt("/\(first)") }
            throw Self.noRoute
        }
    }

    /// Routes of the protocol that answer that they are not there yet; README's status table lists them.
    private static let notBuilt: Set<Substring> = [
        "files", "schemas", "purge", "aggregate", "config", "push", "push_audiences", "jobs", "hooks", "cloud_code",
        "loginAs", "verifyPassword", "requestPasswordReset", "verificationEmailRequest", "challenge",
        "upgradeToRevocableSession", "validate_purchase", "scriptlog", "security",
    ]

    private func object(
        _ request: ParseRequest, _ className: String, _ objectId: String?, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard Names.isClassName(className) else {
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
