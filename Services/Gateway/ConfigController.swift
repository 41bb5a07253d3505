import MessageBus
import Messages
import ParseProtocol

/// `/config`: everybody reads the parameters, the master key changes them.
struct ConfigController: Sendable {
    let services: ServiceClient

    func get(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let reply = try await services.read(
            "catalog.config.v1", ConfigRequest(), for: principal, trace: request.requestId)
        return ParseResponse(body: try reply.document)
    }

    func put(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        _ = try await services.write(
            "catalog.setConfig.v1", SetConfigRequest(), documents: [request.document], for: principal,
            trace: request.requestId)
        return ParseResponse(["result": true])
    }
}
