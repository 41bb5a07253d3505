import Messages
import ParseProtocol

/// `/hooks`: registers webhooks for functions and triggers (PARSE_PROTOCOL section 11.1). Master key only. A change is
/// in effect when its response is sent.
struct HooksController: Sendable {
    let registry: HookRegistry
    let services: ServiceClient

    func list(functions: Bool, _ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let hooks = try await registry.table(in: request.call).hooks.filter { $0.functionName.isEmpty != functions }
        return ParseResponse(.array(hooks.map(\.json)))
    }

    func get(_ wanted: Hook, _ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let found = try await registry.table(in: request.call).hooks.first {
            $0.functionName == wanted.functionName && $0.className == wanted.className
                && $0.triggerName == wanted.triggerName
        }
        guard let found else {
            throw ParseError(
                .webhookError,
                wanted.functionName.isEmpty
                    ? "class \(wanted.className.prefix(128)) does not exist"
                    : "no function named: \(wanted.functionName.prefix(128)) is defined")
        }
        return ParseResponse(found.json)
    }

    func create(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let body = try request.object
        func text(_ name: String) throws(ParseError) -> String {
            guard let value = body[name], !value.isNull else { return "" }
            guard case .string(let text) = value else { throw Self.invalid }
            return text
        }
        var hook = Hook()
        hook.functionName = try text("functionName")
        hook.className = try text("className")
        hook.triggerName = try text("triggerName")
        hook.url = try text("url")
        // The path decides between a function and a trigger.
        guard hook.functionName.isEmpty != (request.path.dropFirst().first == "functions") else { throw Self.invalid }
        if ServiceDirectory.service(ofFunction: hook.functionName) != nil {
            throw ParseError(
                .webhookError,
                "function name: \(hook.functionName) already exists; it is one of Satchel's own and cannot be replaced")
        }
        return try await save(.create, hook, request, principal)
    }

    func change(
        _ named: Hook, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let body = try request.object
        if body["__op"] == "Delete" { return try await remove(named, request, principal) }
        guard let url = body["url"]?.stringValue, !url.isEmpty else { throw Self.invalid }
        var hook = named
        hook.url = url
        return try await save(.change, hook, request, principal)
    }

    func remove(
        _ named: Hook, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        _ = try await save(.remove, named, request, principal)
        return ParseResponse([:])
    }

    private static let invalid = ParseError(.webhookError, "invalid hook declaration")

    private func save(
        _ verb: HookChange.Verb, _ hook: Hook, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let message = HookChange.with {
            $0.verb = verb
            $0.hook = hook
        }
        // Invalidated after a failure too: when the reply is lost, the outcome of the change is unknown.
        defer { registry.forget() }
        _ = try await services.write(HookCalls.set, message, for: principal, in: request.call)
        return ParseResponse(hook.json)
    }
}

extension Hook {
    /// The hook that a route's path names.
    static func named(_ call: RouteCall) -> Hook {
        .with {
            $0.functionName = call["functionName"]
            $0.className = call["className"]
            $0.triggerName = call["triggerName"]
        }
    }

    fileprivate var json: JSON {
        functionName.isEmpty
            ? ["className": .string(className), "triggerName": .string(triggerName), "url": .string(url)]
            : ["functionName": .string(functionName), "url": .string(url)]
    }
}
