import Logging
import ParseProtocol
import ServiceKit

/// `stripeRequest {method, path, form?}`: requests of cloud code to Stripe through hosted Parse's module, with the
/// shop's account. Restricted to the master key, which the module uses.
struct CodePayments: Sendable {
    let host: ServiceHost
    let desk: any StripeAPI

    func install(in routes: inout ServiceRoutes) {
        routes.function("stripeRequest") { [self] parameters, request in
            try request.requireMaster()
            let asked = try StripeRequest(parameters)
            // A retry by the bus has the same key. A retry by the code itself is a separate request.
            let id = request.envelope.idempotencyKey
            let key = "code:\(id.isEmpty ? Names.random(32) : id)"
            let answer = try await desk.answer(asked, key: key, for: request.share)
            if asked.method != .get { note(asked, answer, requestId: request.envelope.traceID) }
            return try .result(["status": .int(Int64(answer.status)), "body": answer.body])
        }
    }

    /// The shop's only record of a charge by cloud code, which belongs to no order. Leaves out tokens, because they can
    /// be charged.
    private func note(_ asked: StripeRequest, _ answer: StripeAnswer, requestId: String) {
        var metadata: Logger.Metadata = [
            "stripe.request": "\(asked.method.rawValue) /v1/\(asked.route)", "stripe.status": "\(answer.status)",
            "request.id": "\(requestId)",
        ]
        func add(_ name: String, _ value: String?) {
            if let value { metadata[name] = "\(value.prefix(Self.textMax))" }
        }
        if asked.path.first != "tokens" {
            add("stripe.object", answer.body["id"]?.stringValue ?? asked.path.dropFirst().first)
        }
        for name in ["amount", "amount_refunded", "currency"] {
            let value = answer.body[name]
            add("stripe.\(name)", value?.stringValue ?? value?.intValue.map(String.init))
        }
        add("stripe.error", answer.body["error"]?["type"]?.stringValue)
        add("stripe.code", answer.body["error"]?["code"]?.stringValue)
        // The outcome is unknown then.
        host.logger.log(
            level: answer.status >= 500 ? .error : .notice, "Cloud code asked the payment provider for a change.",
            metadata: metadata)
    }

    private static let textMax = 100
}
