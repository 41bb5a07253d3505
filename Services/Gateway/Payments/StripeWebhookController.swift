import Messages
import ParseProtocol

/// `/webhooks/stripe`: what Stripe reports of charges and refunds.
struct StripeWebhookController: Sendable {
    let services: ServiceClient

    private static let signature = headerName("Stripe-Signature")

    /// The body travels as it came, because the signature is over its bytes.
    func receive(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let webhook = PaymentWebhook.with { $0.signature = request.headers[Self.signature] ?? "" }
        _ = try await services.write(
            PaymentsCalls.webhook, webhook, documents: [request.body], for: .init(), trace: request.requestId)
        return ParseResponse(["received": true])
    }
}
