import Messages
import ParseProtocol

/// The trigger of password-reset requests.
struct HookedReset: Sendable {
    private let scope: HookScope
    private let target: HookTarget
    private let principal: Principal

    /// Nil when there is no such trigger.
    init?(_ scope: HookScope?, _ principal: Principal) async throws(ParseError) {
        let trigger = HookTable.Trigger.beforePasswordResetRequest
        guard let scope, let target = try await scope.table(with: [trigger], "_User")?.target(trigger, "_User")
        else { return nil }
        self.scope = scope
        self.target = target
        self.principal = principal
    }

    /// - Throws: the trigger's refusal.
    func before(_ userId: String) async throws(ParseError) {
        guard let user = try await scope.object("_User", userId, as: .ofHooks) else { return }
        var body = try await scope.subject(principal)
        body["triggerName"] = "beforePasswordResetRequest"
        body["object"] = user
        _ = try await scope.call(target, body, principal)
    }
}

extension AccountsController {
    /// Requests the mail with a reset link after the trigger has allowed it. Unknown addresses and allowed accounts get
    /// the same response, after whole steps of time (`ResetDelay`): only a trigger that takes longer than one shows.
    /// - Throws: the trigger's refusal, which reveals that the account exists.
    func requestReset(
        to address: String, for request: ParseRequest, _ hook: HookedReset
    ) async throws(ParseError) {
        let came = ContinuousClock.now
        let stranger = Principal.of(network: request.network)
        let question = MailRequest.with {
            $0.link = .passwordReset
            $0.email = address
        }
        let owner = try await services.write(
            UsersCalls.resetOwner, question, for: stranger, in: request.call
        ).message.objectID
        if !owner.isEmpty { try await hook.before(owner) }
        let link = MailLink.with {
            $0.link = .passwordReset
            $0.email = address
        }
        _ = try await services.write(UsersCalls.mailLink, link, for: stranger, in: request.call)
        try? await Task.sleep(for: ResetDelay.pause(after: ContinuousClock.now - came))
    }
}
