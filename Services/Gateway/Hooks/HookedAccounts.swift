import Messages
import ParseProtocol

/// The hooks of sign-up and sign-in.
struct HookedAccounts: Sendable {
    let scope: HookScope
    private let table: HookTable
    private let principal: Principal

    private static let triggers: [HookTable.Trigger] = [.beforeSave, .afterSave, .beforeLogin, .afterLogin]

    /// Nil when there are no such hooks.
    init?(_ scope: HookScope?, _ principal: Principal) async throws(ParseError) {
        guard let scope, let table = try await scope.table(with: Self.triggers, "_User") else {
            return nil
        }
        self.scope = scope
        self.table = table
        self.principal = principal
    }

    func has(_ trigger: HookTable.Trigger) -> Bool { table.target(trigger, "_User") != nil }

    /// - Throws: the hook's refusal.
    func beforeLogin(_ userId: String) async throws(ParseError) {
        guard let target = table.target(.beforeLogin, "_User"),
            let user = try await scope.object("_User", userId, as: .ofHooks)
        else { return }
        var body = try await scope.subject(principal)
        body["triggerName"] = "beforeLogin"
        body["object"] = user
        _ = try await scope.call(target, body, principal)
    }

    /// - Parameter answer: the response to the sign-in.
    /// - Throws: the refusal, when the response waits for it; the session remains.
    func afterLogin(_ userId: String, _ answer: [UInt8]) async throws(ParseError) {
        guard let target = table.target(.afterLogin, "_User"),
            var user = try await scope.object("_User", userId, as: .ofHooks)
        else { return }
        user["sessionToken"] = try JSON(reply: answer, in: scope.request.call)["sessionToken"]
        var body = try await scope.subject(principal)
        body["triggerName"] = "afterLogin"
        body["object"] = user
        body["user"] = user
        try await scope.callAfter(target, principal) { [body] _ in body }
    }

    /// The client's document with the hook's fields, and the changed fields for the response.
    /// - Parameter areProven: whether the proofs in `authData` were verified; only then the code gets them.
    /// - Throws: the hook's refusal.
    func beforeSave(
        _ document: JSON, areProven: Bool
    ) async throws(ParseError) -> (document: JSON, changed: HookedObject.Changed, context: JSON?) {
        guard let target = table.target(.beforeSave, "_User") else { return (document, .init(), nil) }
        var body = try await scope.subject(principal)
        var object = HookedObject.merged(document, into: nil, of: "_User")
        if areProven { object["authData"] = HookedObject.links(document["authData"]) }
        body["triggerName"] = "beforeSave"
        body["object"] = object
        let written = HookedObject.written(by: document, sent: object)
        body[CodeCall.written] = .array(written.sorted().map(JSON.string))
        body[CodeCall.password] = HookedObject.password(in: document)
        let answer = try await scope.call(target, body, principal)
        let fields = HookedObject.replaced(by: answer.value, sent: object)
        return (
            HookedObject.document(document, replacing: fields, without: answer.removedByCode),
            .init(replaced: fields, removedByCode: answer.removedByCode), answer.context
        )
    }

    /// - Parameter context: the context that `beforeSave` set; nil when it set none.
    /// - Returns: the changes to the client's response, as `HookScope.callAfterSave`.
    func afterSave(_ userId: String, context: JSON?) async throws(ParseError) -> JSON? {
        guard let target = table.target(.afterSave, "_User") else { return nil }
        let subject = try await scope.subject(principal)
        return await scope.callAfterSave(target, principal) { scope in
            var body = subject
            body["triggerName"] = "afterSave"
            if let context { body["context"] = context }
            body["object"] = try await scope.object("_User", userId, as: .ofHooks)
            return body
        }
    }
}

extension AccountsController {
    /// Signs up, or in with a linked account, with hooks. `beforeSave` runs for new users only, after their proofs were
    /// verified.
    func signUp(
        _ request: ParseRequest, _ principal: Principal, _ hooks: HookedAccounts
    ) async throws(ParseError) -> ParseResponse {
        let wanted = JSON.object(try request.object)
        let mayReturn = hooks.has(.beforeSave) && Self.mayReturn(wanted)
        if mayReturn {
            let (account, body) = try await ask(UsersCalls.signInReturning, request, wanted.serialized, principal)
            if !account.objectID.isEmpty { return try await returned(account.objectID, body, request, hooks) }
        }
        let (document, changed, context) = try await hooks.beforeSave(wanted, areProven: mayReturn)
        let (account, body) = try await ask(UsersCalls.signUp, request, document.serialized, principal)
        guard account.created else { return try await returned(account.objectID, body, request, hooks) }
        var answer = try JSON(reply: body, in: request.call)
        let user = Principal.with { $0.userID = account.objectID }
        let location = "\(configuration.publicURL)/users/\(account.objectID)"
        let supportsRemovals = hooks.scope.supportsRemovals
        if !changed.isEmpty, let stored = try await hooks.scope.object("_User", account.objectID, as: user) {
            answer = HookedObject.response(answer, with: changed, stored: stored, supportsRemovals: supportsRemovals)
        }
        if let result = try await hooks.afterSave(account.objectID, context: context) {
            answer = HookedObject.response(answer, afterSave: result, supportsRemovals: supportsRemovals)
        }
        return ParseResponse(status: 201, answer, location: location)
    }

    /// Whether the request may be the sign-in of an existing user: with proofs and without a password.
    private static func mayReturn(_ wanted: JSON) -> Bool {
        (wanted["password"] ?? .null).isNull && wanted["authData"]?.objectValue?.isEmpty == false
    }

    /// The response to a returning user. Only the sign-in reveals the user, so a session which `beforeLogin` refuses is
    /// ended before its token is sent.
    private func returned(
        _ userId: String, _ body: [UInt8], _ request: ParseRequest, _ hooks: HookedAccounts
    ) async throws(ParseError) -> ParseResponse {
        do throws(ParseError) {
            try await hooks.beforeLogin(userId)
        } catch {
            let token = try JSON(reply: body, in: request.call)["sessionToken"]?.stringValue ?? ""
            let session = Principal.with {
                $0.userID = userId
                $0.sessionToken = token
            }
            _ = try await ask(UsersCalls.logOut, request, Array("{}".utf8), session)
            throw error
        }
        try await hooks.afterLogin(userId, body)
        return ParseResponse(body: body, location: "\(configuration.publicURL)/users/\(userId)")
    }
}

/// The hook of sign-out.
struct HookedSessions: Sendable {
    private let scope: HookScope
    private let target: HookTarget
    private let principal: Principal

    /// Nil when there is no such hook.
    init?(_ scope: HookScope?, _ principal: Principal) async throws(ParseError) {
        guard let scope,
            let target = try await scope.table(with: [.afterLogout], "_Session")?.target(.afterLogout, "_Session")
        else { return nil }
        self.scope = scope
        self.target = target
        self.principal = principal
    }

    /// The call's body about a session that is about to end, built while the session can still be read.
    func logOut(of session: JSON) async throws(ParseError) -> [String: JSON] {
        var body = try await scope.subject(principal)
        body["triggerName"] = "afterLogout"
        body["object"] = HookedObject.forHook(session, of: "_Session")
        return body
    }

    /// - Throws: the refusal, when the response waits for it; the session has ended.
    func loggedOut(_ body: [String: JSON]) async throws(ParseError) {
        try await scope.callAfter(target, principal) { _ in body }
    }
}

extension JSON {
    /// The object without some members.
    func removing(_ names: Set<String>) -> JSON {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { !names.contains($0.key) })
    }
}
