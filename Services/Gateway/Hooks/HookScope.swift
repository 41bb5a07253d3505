import HTTPTypes
import Messages
import ParseProtocol

/// The state that the webhooks and the cloud code of one request have in common. The request carries it along
/// (`ParseRequest.hooks`) while there may be any at all, so that reads deep in an include or a sub-query come past
/// them; a suite without webhooks pays for one look.
///
/// A class, because the request that it is about carries it.
final class HookScope: Sendable {
    let registry: HookRegistry
    private let webhooks: Webhooks
    private let code: CloudCode
    let services: ServiceClient
    /// As it was before it carried this along.
    let request: ParseRequest

    /// Nil when it is known that there are no webhooks.
    init?(_ registry: HookRegistry, _ webhooks: Webhooks, _ request: ParseRequest) {
        if let known = registry.known, known.isEmpty { return nil }
        self.registry = registry
        self.webhooks = webhooks
        services = registry.services
        code = CloudCode(services: registry.services)
        self.request = request
    }

    /// The table, when the class has one of the triggers.
    func table(with triggers: [HookTable.Trigger], _ className: String) async throws(ParseError) -> HookTable? {
        let table = try await registry.table()
        return table.has(triggers, className) ? table : nil
    }

    /// Whether the client hears of fields that a webhook removed.
    var tellsRemovals: Bool { ClientSDK(version: request.credentials.clientVersion).knowsRemovals }

    /// Headers that prove something; a webhook needs none of them.
    private static let secretHeaders: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "x-parse-master-key", "x-parse-maintenance-key",
        "x-parse-session-token", "x-parse-rest-api-key", "x-parse-javascript-key", "x-parse-client-key",
        "x-parse-windows-key",
    ]

    /// The members by which every call tells of the request: who asks, and from where. Tokens and keys are not in it.
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
            members["user"] = try await object("_User", principal.userID, as: principal)
        }
        return members
    }

    /// An object as a webhook is told of it; nil when there is none that the principal may read.
    func object(
        _ className: String, _ objectId: String, as principal: Principal
    ) async throws(ParseError) -> JSON? {
        let message = GetRequest.with {
            $0.className = className
            $0.objectID = objectId
        }
        do throws(ParseError) {
            let reply = try await services.read(
                ServiceDirectory.calls(ofClass: className).get, message, for: principal, trace: request.requestId)
            return HookedObject.told(try JSON(reply: reply.document), of: className)
        } catch  where error.code == .objectNotFound || error.code == .operationForbidden {
            return nil
        }
    }

    // MARK: Calling

    /// Calls a webhook or cloud code.
    /// - Parameter body: what a webhook is told; cloud code is told the same in its own words.
    /// - Throws: what it refuses, or what is wrong with its answer.
    func call(
        _ target: HookTarget, _ body: [String: JSON], _ principal: Principal
    ) async throws(ParseError) -> HookAnswer {
        switch target {
        case .webhook(let url):
            // Webhooks are told what Parse Server tells them.
            let told = body.filter { $0.key != CodeCall.written }
            return HookAnswer(value: try await webhooks.call(url, told))
        case .code: return try await code.call(body, principal, of: request)
        }
    }

    /// Calls one that has no say any more.
    func callAfter(
        _ target: HookTarget, _ principal: Principal,
        _ body: @escaping @Sendable () async throws -> [String: JSON]
    ) async {
        await webhooks.afterwards { [self] in _ = try await call(target, body(), principal) }
    }

    /// The answer of a function of cloud code or at another host: its `result`, if it has one. Nil when there is no
    /// function of that name.
    func call(
        function name: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> JSON? {
        guard let target = try await registry.table().target(ofFunction: name) else { return nil }
        return try await call(target, function: name, request, principal)
    }

    /// The answer of a function of cloud code; nil when it has none of that name.
    func call(
        codeFunction name: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> JSON? {
        guard try await registry.table().target(ofFunction: name) == .code else { return nil }
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
    /// The gateway reading for a webhook, which is told of whole objects.
    static var ofHooks: Principal { .with { $0.master = true } }
}
