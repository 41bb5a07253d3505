import MessageBus
import Messages
import ParseProtocol

/// What apps report, events and crashes, and what the payment provider reports.
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

    /// `POST /api/<project>/envelope/`, where Sentry SDKs send crash reports. Outside the mount: the SDK builds the path.
    func sentry(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        guard request.method == .post, request.path.count == 3, request.path[0] == "api", request.path[2] == "envelope"
        else { throw ParseRouter.noRoute }
        let reply = try await services.write(
            "crash.envelope.v1", CrashReport.with { $0.projectID = String(request.path[1]) }, documents: [request.body],
            for: .init(), trace: request.requestId)
        return ParseResponse(body: try reply.document)
    }

    private static let stripeSignature = headerName("Stripe-Signature")

    /// `POST <mount>/webhooks/stripe`: the body travels as it came, because the signature is over its bytes.
    func stripe(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        guard request.method == .post else { throw ParseRouter.noRoute }
        let webhook = PaymentWebhook.with { $0.signature = request.headers[Self.stripeSignature] ?? "" }
        _ = try await services.write(
            "payments.webhook.v1", webhook, documents: [request.body], for: .init(), trace: request.requestId)
        return ParseResponse(["received": true])
    }
}
