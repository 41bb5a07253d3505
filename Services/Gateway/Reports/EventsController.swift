import MessageBus
import Messages
import ParseProtocol

/// `/events/<name>`: analytics events that apps report.
struct EventsController: Sendable {
    let services: ServiceClient

    func track(
        _ name: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let event = Self.event(named: name[...])
        let reply = try await services.write(
            event == nil ? CrashCalls.appReport : AnalyticsCalls.event,
            event ?? AppEvent.with { $0.name = Self.crashReport }, documents: [request.document], for: principal,
            in: request.call, timeout: Self.timeout)
        return Self.answer(to: reply)
    }

    /// The one event that is not counted: a crash report from the SDKs of hosted Parse.
    private static let crashReport = "_CrashReport"

    static let timeout = Duration.seconds(10)

    /// A counted event, by its name in a path; nil for a crash report.
    static func event(named name: Substring) -> AppEvent? {
        guard name != crashReport else { return nil }
        return AppEvent.with { $0.name = String(name) }
    }

    static func answer(to reply: ServiceReply<Accepted>) -> ParseResponse {
        ParseResponse(body: reply.documents.first ?? Array("{}".utf8))
    }
}
