import MessageBus
import Messages
import ParseProtocol

/// `/functions/<name>`: Satchel's own functions at the service that has them, then those of cloud code, then those at
/// other hosts.
struct FunctionsController: Sendable {
    let services: ServiceClient
    /// Whether functions of cloud code take the place of Satchel's own of the same name.
    let codeReplacesOwn: Bool

    /// A checkout waits for a payment provider; everything else answers within a fraction of it.
    private static let timeout = Duration.seconds(30)

    func call(_ name: String, _ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse
    {
        if codeReplacesOwn, let result = try await request.hooks?.call(codeFunction: name, request, principal) {
            return ParseResponse(result)
        }
        guard let owner = ServiceDirectory.service(ofFunction: name) else {
            // Cloud code's, or one at another host. Neither takes the place of one of ours.
            if let result = try await request.hooks?.call(function: name, request, principal) {
                return ParseResponse(result)
            }
            throw ParseError(.scriptFailed, "Invalid function: \"\(name.prefix(128))\"")
        }
        let call = ObjectCalls(of: owner.service).function(name)
        let document =
            request.query == nil ? request.document : JSON.object(try request.parameters(asTexts: false)).serialized
        let message = FunctionRequest.with { $0.name = name }
        let reply =
            owner.writes
            ? try await services.write(
                call, message, documents: [document], for: principal, trace: request.requestId,
                timeout: Self.timeout)
            : try await services.read(
                call, message, documents: [document], for: principal, trace: request.requestId)
        return ParseResponse(body: Array(#"{"result":"#.utf8) + (try reply.document) + [UInt8(ascii: "}")])
    }
}
