import HTTPTypes
import Messages
import ParseProtocol

/// The state that the webhooks and cloud code of one request share. The request carries it (`ParseRequest.hooks`)
/// unless there are no hooks at all, so that reads deep in an include or a sub-query call them too. Without hooks a
/// request costs one check.
///
/// A class, because it holds the request that carries it.
final class HookScope: Sendable {
    let registry: HookRegistry
    private let webhooks: Webhooks
    private let code: CloudCode
    let services: ServiceClient
    /// The request without this scope.
    let request: ParseRequest

    /// Nil when the current table has no webhook, and no trigger or function of cloud code.
    init?(_ registry: HookRegistry, _ webhooks: Webhooks, _ request: ParseRequest) {
        if let table = registry.cached, table.isEmpty { return nil }
        self.registry = registry
        self.webhooks = webhooks
        services = registry.services
        code = CloudCode(services: registry.services, links: webhooks.links)
        self.request = request
    }

    private init(_ scope: HookScope, _ request: ParseRequest) {
        (registry, webhooks, code, services) = (scope.registry, scope.webhooks, scope.code, scope.services)
        self.request = request
    }

    /// The same scope with another context for its calls.
    func calling(in context: CallContext) -> HookScope {
        var request = request
        request.call = context
        return HookScope(self, request)
    }

    /// The table, when the class has one of the triggers.
    func table(with triggers: [HookTable.Trigger], _ className: String) async throws(ParseError) -> HookTable? {
        let table = try await registry.table(in: request.call)
        return table.has(triggers, className) ? table : nil
    }

    /// Whether the client's SDK understands removed fields in a response.
    var supportsRemovals: Bool { ClientSDK(version: request.credentials.clientVersion).interpretsRemovals }

    /// Headers with credentials; no webhook needs them.
    private static let secretHeaders: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "x-parse-master-key", "x-parse-maintenance-key",
        "x-parse-session-token", "x-parse-rest-api-key", "x-parse-javascript-key", "x-parse-client-key",
        "x-parse-windows-key",
    ]

    /// The members about the request in every call: its principal and its origin, without tokens and keys. The user
    /// object is complete, whatever the class lets users read of themselves.
    func subject(_ principal: Principal) async throws(ParseError) -> [String: JSON] {
        var headers: [String: JSON] = [:]
        for field in request.headers where !Self.secretHeaders.contains(field.name.canonicalName) {
            headers[field.name.canonicalName] = .string(field.value)
        }
        var members: [String: JSON] = [
            "master": .bool(principal.master), "headers": .object(headers), "context": request.context ?? [:],
            "ip": .string(request.clientAddress?.ipAddress ?? ""),
        ]
        if !principal.installationID.isEmpty { members["installationId"] = .string(principal.installationID) }
        if !principal.userID.isEmpty {
            members["user"] = try await object("_User", principal.userID, as: .ofHooks)
        }
        return members
    }

    /// An object in the form that webhooks get; nil when the principal can read none.
    func object(
        _ className: String, _ objectId: String, as principal: Principal
    ) async throws(ParseError) -> JSON? {
        let message = GetRequest.with {
            $0.className = className
            $0.objectID = objectId
        }
        do throws(ParseError) {
            let reply = try await services.read(
                ServiceDirectory.calls(ofClass: className).get, message, for: principal, in: request.call)
            return HookedObject.forHook(try JSON(reply: reply.document, in: request.call), of: className)
        } catch  where error.code == .objectNotFound || error.code == .operationForbidden {
            return nil
        }
    }

    // MARK: Calling

    /// Calls a webhook or cloud code.
    /// - Parameter body: the webhook's body; cloud code gets it in its own form.
    /// - Throws: the refusal, or an error about a malformed result.
    func call(
        _ target: HookTarget, _ body: [String: JSON], _ principal: Principal
    ) async throws(ParseError) -> HookAnswer {
        switch target {
        case .webhook(let url):
            return HookAnswer(value: try await webhooks.call(url, HookedObject.forWebhook(body)))
        case .code: return try await code.call(body, principal, of: request)
        }
    }

    /// Calls a hook after a change.
    /// - Parameter body: makes its calls of services through the scope.
    /// - Throws: its refusal, when the response waits for it.
    func callAfter(
        _ target: HookTarget, _ principal: Principal,
        _ body: @escaping @Sendable (_ scope: HookScope) async throws -> [String: JSON]
    ) async throws(ParseError) {
        var context = request.call
        // The call may outlast the response.
        if !webhooks.awaitsAfter { context.deadline = nil }
        let scope = calling(in: context)
        try await webhooks.afterwards { _ = try await scope.call(target, body(scope), principal) }
    }

    /// Calls the `afterSave` of an object. Its failures are only logged.
    /// - Returns: the changes to the client's response, when the operator lets the response wait: see
    ///   `HookedObject.response(_:afterSave:supportsRemovals:)`.
    func callAfterSave(
        _ target: HookTarget, _ principal: Principal,
        _ body: @escaping @Sendable (_ scope: HookScope) async throws -> [String: JSON]
    ) async -> JSON? {
        guard target == .code, webhooks.awaitsAfter else {
            try? await callAfter(target, principal, body)
            return nil
        }
        return try? await call(
            target, body(self).merging([CodeCall.awaited: true]) { _, new in new }, principal
        ).value
    }

    /// The response of a function of cloud code or a webhook: its `result`, if it has one. Nil when there is no
    /// function of that name.
    func call(
        function name: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> JSON? {
        guard let target = try await registry.table(in: request.call).target(ofFunction: name) else { return nil }
        return try await call(target, function: name, request, principal)
    }

    /// The response of a function of cloud code; nil when there is none of that name.
    func call(
        codeFunction name: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> JSON? {
        guard try await registry.table(in: request.call).target(ofFunction: name) == .code else { return nil }
        return try await call(.code, function: name, request, principal)
    }

    private func call(
        _ target: HookTarget, function name: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> JSON {
        var body = try await subject(principal)
        body["functionName"] = .string(name)
        body["params"] = .object(try request.parameters(asTexts: true))
        let answer = try await call(target, body, principal)
        return answer.isNothing ? [:] : ["result": answer.value]
    }
}

extension Principal {
    /// The gateway's principal for reading whole objects for a webhook.
    static var ofHooks: Principal { .with { $0.master = true } }
}
