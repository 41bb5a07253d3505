import Messages
import ParseProtocol

/// The table of every route under the mount, for requests whose credentials are known.
extension ParseRouter {
    func route(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let path = request.path
        let second = path.dropFirst().first.map(String.init)
        switch (request.method, path.first, path.count) {
        // Objects.
        case (_, "classes", 2...3):
            return try await object(request, String(path[1]), path.count == 3 ? String(path[2]) : nil, principal)
        case (.get, "users", 2) where path[1] == "me": return try await accounts.me(request, principal)
        case (.get, "sessions", 2) where path[1] == "me": return try await accounts.currentSession(request, principal)
        case (_, "users", 1...2): return try await object(request, "_User", second, principal)
        case (_, "roles", 1...2): return try await object(request, "_Role", second, principal)
        case (_, "sessions", 1...2): return try await object(request, "_Session", second, principal)
        case (_, "installations", 1...2): return try await object(request, "_Installation", second, principal)
        case (.post, "batch", 1): return try await BatchController(router: self).run(request, principal)

        // Accounts.
        case (.post, "login", 1), (.get, "login", 1): return try await accounts.logIn(request, principal)
        case (.post, "logout", 1): return try await accounts.logOut(request, principal)
        case (.post, "verifyPassword", 1), (.get, "verifyPassword", 1):
            return try await accounts.verifyPassword(request, principal)
        case (.post, "loginAs", 1): return try await accounts.logInAs(request, principal)
        // Every session here can be revoked: there is nothing to upgrade.
        case (.post, "upgradeToRevocableSession", 1): return try await accounts.currentSession(request, principal)
        case (.post, "requestPasswordReset", 1): return try await accounts.requestMail(.passwordReset, request)
        case (.post, "verificationEmailRequest", 1): return try await accounts.requestMail(.emailVerification, request)

        // Files, functions, reports, Config.
        case (.post, "files", 1...2): return try await files.upload(request, principal)
        case (.delete, "files", 1...2): return try await files.delete(request, principal)
        case (.post, "functions", 2): return try await functions.call(String(path[1]), request, principal)
        case (.post, "events", 2): return try await intake.event(String(path[1]), request, principal)
        case (.get, "config", 1): return try await config.get(request, principal)
        case (.put, "config", 1): return try await config.put(request, principal)
        case (.get, "export", 2): return try await exports.run(String(path[1]), request, principal)
        case (.post, "import", 2): return try await imports.run(String(path[1]), request, principal)

        // What the master key manages.
        case (.get, "aggregate", 2), (_, "schemas", 1...2), (.delete, "purge", 2), (.post, "push", 1),
            (_, "push_audiences", 1...2),
            (.get, "serverInfo", 1):
            guard principal.master else { return .forbidden("unauthorized: master key is required") }
            return try await managed(request, second, principal)
        default:
            if let first = path.first, Self.notBuilt.contains(first) { throw .notBuilt("/\(first)") }
            throw Self.noRoute
        }
    }

    private func managed(
        _ request: ParseRequest, _ className: String?, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        switch (request.method, request.path.first, className) {
        case (.get, "aggregate", let name?): return try await aggregates.run(name, request, principal)
        case (.get, "serverInfo", nil): return system.serverInfo()
        case (.post, "push", nil): return try await push.send(request, principal)
        case (_, "push_audiences", _): return try await push.audiences(request, principal)
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
        "jobs", "hooks", "cloud_code", "challenge", "validate_purchase", "scriptlog", "security",
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
