import MessageBus
import Messages
import ParseProtocol

/// `/functions/<name>`. The order of precedence: Satchel's functions, cloud code, webhooks, aliases of Satchel's
/// functions.
struct FunctionsController: Sendable {
    let services: ServiceClient
    /// Whether functions of cloud code replace Satchel's functions of the same name.
    let codeReplacesOwn: Bool

    /// A checkout waits for a payment provider; every other function is much faster.
    private static let timeout = Duration.seconds(30)

    func call(_ name: String, _ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse
    {
        if codeReplacesOwn, let result = try await request.hooks?.call(codeFunction: name, request, principal) {
            return ParseResponse(result)
        }
        if let owner = ServiceDirectory.service(ofFunction: name) {
            return try await call(name, at: owner, request, principal)
        }
        if let result = try await request.hooks?.call(function: name, request, principal) {
            return ParseResponse(result)
        }
        if let own = ServiceDirectory.function(ofAlias: name), let owner = ServiceDirectory.service(ofFunction: own) {
            return try await call(own, at: owner, request, principal)
        }
        throw ParseError(.scriptFailed, "Invalid function: \"\(name.prefix(128))\"")
    }

    private func call(
        _ name: String, at owner: FunctionTable.Entry, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let call = ObjectCalls(of: owner.service).function(name)
        let document =
            request.query == nil ? request.document : JSON.object(try request.parameters(asTexts: false)).serialized
        let message = FunctionRequest.with { $0.name = name }
        let reply =
            owner.writes
            ? try await services.write(
                call, message, documents: [document], for: principal, in: request.call,
                timeout: Self.timeout)
            : try await services.read(
                call, message, documents: [document], for: principal, in: request.call)
        return ParseResponse(body: Array(#"{"result":"#.utf8) + (try reply.document) + [UInt8(ascii: "}")])
    }
}
