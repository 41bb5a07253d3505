import MessageBus
import Messages
import ParseProtocol

/// `/events/<name>`: what apps report of themselves.
struct EventsController: Sendable {
    let services: ServiceClient

    func track(
        _ name: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        // The one event that is no figure: what the SDKs of hosted Parse report of a crash.
        let call = name == Self.crashReport ? CrashCalls.appReport : AnalyticsCalls.event
        let reply = try await services.write(
            call, AppEvent.with { $0.name = name }, documents: [request.document], for: principal,
            trace: request.requestId)
        return ParseResponse(body: reply.documents.first ?? Array("{}".utf8))
    }

    private static let crashReport = "_CrashReport"
}
