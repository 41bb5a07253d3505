import Messages
import ParseProtocol

/// `/webhooks/stripe`: Stripe's events about charges and refunds.
struct StripeWebhookController: Sendable {
    let services: ServiceClient

    private static let signature = headerName("Stripe-Signature")

    /// Passes the body on unchanged, because the signature covers its bytes.
    func receive(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let webhook = PaymentWebhook.with { $0.signature = request.headers[Self.signature] ?? "" }
        _ = try await services.write(
            PaymentsCalls.webhook, webhook, documents: [request.body], for: .init(), in: request.call)
        return ParseResponse(["received": true])
    }
}
