import Messages
import ParseProtocol

/// The webhooks about signing up and in.
struct HookedAccounts: Sendable {
    let scope: HookScope
    private let table: HookTable
    private let principal: Principal

    private static let triggers: [HookTable.Trigger] = [.beforeSave, .afterSave, .beforeLogin, .afterLogin]

    /// Nil when there is no such webhook.
    init?(_ scope: HookScope?, _ principal: Principal) async throws(ParseError) {
        guard let scope, let table = try await scope.table(with: Self.triggers, "_User") else {
            return nil
        }
        self.scope = scope
        self.table = table
        self.principal = principal
    }

    func has(_ trigger: HookTable.Trigger) -> Bool { table.target(trigger, "_User") != nil }

    /// - Throws: the webhook's refusal.
    func beforeLogin(_ user: JSON) async throws(ParseError) {
        guard let target = table.target(.beforeLogin, "_User") else { return }
        var body = try await scope.subject(principal)
        body["triggerName"] = "beforeLogin"
        body["object"] = HookedObject.told(user, of: "_User")
        _ = try await scope.call(target, body, principal)
    }

    func afterLogin(_ user: JSON) async throws(ParseError) {
        guard let target = table.target(.afterLogin, "_User") else { return }
        var body = try await scope.subject(principal)
        body["triggerName"] = "afterLogin"
        body["object"] = HookedObject.told(user, of: "_User")
        await scope.callAfter(target, principal) { [body] in body }
    }

    /// The client's document with what the webhook set, and that alone.
    /// - Throws: the webhook's refusal.
    func beforeSave(_ document: JSON) async throws(ParseError) -> (document: JSON, replaced: [String: JSON]) {
        guard let target = table.target(.beforeSave, "_User") else { return (document, [:]) }
        var body = try await scope.subject(principal)
        let object = HookedObject.merged(document, into: nil, of: "_User")
        body["triggerName"] = "beforeSave"
        body["object"] = object
        let written = HookedObject.written(by: document, told: object)
        body[CodeCall.written] = .array(written.sorted().map(JSON.string))
        let answer = try await scope.call(target, body, principal)
        let fields = HookedObject.replaced(by: answer.value, told: object)
        return (HookedObject.document(document, replacing: fields, without: answer.takenBack), fields)
    }

    func afterSave(_ userId: String) async throws(ParseError) {
        guard let target = table.target(.afterSave, "_User") else { return }
        let subject = try await scope.subject(principal)
        await scope.callAfter(target, principal) { [scope] in
            var body = subject
            body["triggerName"] = "afterSave"
            body["object"] = try await scope.object("_User", userId, as: .ofHooks)
            return body
        }
    }
}

extension AccountsController {
    /// Signing up, or in with a linked account, with webhooks.
    func signUp(
        _ request: ParseRequest, _ principal: Principal, _ hooks: HookedAccounts
    ) async throws(ParseError) -> ParseResponse {
        let (document, replaced) = try await hooks.beforeSave(.object(try request.object))
        let (account, body) = try await ask(UsersCalls.signUp, request, document.serialized, principal)
        var answer = try JSON(reply: body)
        let user = Principal.with { $0.userID = account.objectID }
        let location = "\(configuration.publicURL)/users/\(account.objectID)"
        guard account.created else {
            // Who it is shows only now. A session whose token nobody was told is nobody's.
            do throws(ParseError) {
                try await hooks.beforeLogin(answer)
            } catch {
                var session = user
                session.sessionToken = answer["sessionToken"]?.stringValue ?? ""
                _ = try await ask(UsersCalls.logOut, request, Array("{}".utf8), session)
                throw error
            }
            try await hooks.afterLogin(answer)
            return ParseResponse(body: body, location: location)
        }
        if !replaced.isEmpty, let stored = try await hooks.scope.object("_User", account.objectID, as: user) {
            answer = HookedObject.told(answer, replaced, stored: stored, tellsRemovals: hooks.scope.tellsRemovals)
        }
        try await hooks.afterSave(account.objectID)
        return ParseResponse(status: 201, answer, location: location)
    }
}

/// The webhook about signing out.
struct HookedSessions: Sendable {
    private let scope: HookScope
    private let target: HookTarget
    private let principal: Principal

    /// Nil when there is no such webhook.
    init?(_ scope: HookScope?, _ principal: Principal) async throws(ParseError) {
        guard let scope,
            let target = try await scope.table(with: [.afterLogout], "_Session")?.target(.afterLogout, "_Session")
        else { return nil }
        self.scope = scope
        self.target = target
        self.principal = principal
    }

    /// The call's body about a session that is about to end, made while the session can still be read.
    func logOut(of session: JSON) async throws(ParseError) -> [String: JSON] {
        var body = try await scope.subject(principal)
        body["triggerName"] = "afterLogout"
        body["object"] = HookedObject.told(session, of: "_Session")
        return body
    }

    func loggedOut(_ told: [String: JSON]) async {
        await scope.callAfter(target, principal) { told }
    }
}

extension JSON {
    /// The object without some members.
    func removing(_ names: Set<String>) -> JSON {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { !names.contains($0.key) })
    }
}
