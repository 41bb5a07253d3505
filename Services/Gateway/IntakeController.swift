import MessageBus
import Messages
import ParseProtocol

/// What apps report: that they were opened, and events of their own.
struct IntakeController: Sendable {
    let services: ServiceClient

    func event(
        _ name: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let reply = try await services.write(
            "analytics.event.v1", AppEvent.with { $0.name = name }, documents: [request.document], for: principal,
            trace: request.requestId)
        return ParseResponse(body: reply.documents.first ?? Array("{}".utf8))
    }
}
