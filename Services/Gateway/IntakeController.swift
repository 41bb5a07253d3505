import MessageBus
import Messages
import ParseProtocol

/// The routes for what apps report of themselves and what the payment provider reports.
struct IntakeController: Sendable {
    let services: ServiceClient

    func event(
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
    private static let stripeSignature = headerName("Stripe-Signature")

    /// `POST <mount>/webhooks/stripe`: the body travels as it came, because the signature is over its bytes.
    func stripe(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let webhook = PaymentWebhook.with { $0.signature = request.headers[Self.stripeSignature] ?? "" }
        _ = try await services.write(
            PaymentsCalls.webhook, webhook, documents: [request.body], for: .init(), trace: request.requestId)
        return ParseResponse(["received": true])
    }
}
