import Outbound
import ParseProtocol

/// The answer to a request of cloud code's to Stripe: a status and JSON, a refusal in an `error` object as Stripe's
/// (https://docs.stripe.com/api/errors).
package struct StripeAnswer: Sendable, Equatable {
    /// Stripe's, or the one that it has for the like.
    package let status: Int
    package let body: JSON

    package init(status: Int, body: JSON) {
        self.status = status
        self.body = body
    }

    /// The sandbox's refusal.
    /// - Parameter isMissing: whether the path names what is not there.
    init(_ failure: ProviderFailure, isMissing: Bool) {
        let refusal = failure.type == "card_error" ? 402 : 400
        self.init(status: isMissing ? 404 : refusal, body: ["error": failure.json])
    }

    /// Stripe's answer as it is. What it says of the shop's key is left out: it repeats a part of it.
    package init(_ answer: OutboundResponse) {
        let body = try? JSON(parsing: answer.body)
        switch answer.status {
        case 200...299:
            guard let body, body.objectValue != nil else {
                self = Self.trouble(502, "api_error", "Stripe's answer cannot be read.")
                return
            }
            self.init(status: answer.status, body: body)
        case 401, 403:
            let error = body.flatMap { StripeError(status: answer.status, body: $0) }
            let type = error?.type ?? ""
            self = Self.trouble(
                answer.status, type.isEmpty ? "authentication_error" : type,
                "Stripe refuses the shop's key for this; its operator has to look.")
        default:
            guard let error = body?["error"], error.objectValue != nil else {
                let status = answer.status >= 400 ? answer.status : 502
                self = Self.trouble(status, "api_error", "Stripe answered with status \(answer.status).")
                return
            }
            self.init(status: answer.status, body: ["error": error])
        }
    }

    /// No answer came, or none that is complete.
    static let none = trouble(
        502, "api_connection_error", "Stripe did not answer; whether it did what was asked is not known.")

    private static func trouble(_ status: Int, _ type: String, _ message: String) -> StripeAnswer {
        StripeAnswer(status: status, body: ["error": ["type": .string(type), "message": .string(message)]])
    }
}

/// The provider as cloud code asks it by hosted Parse's module for Stripe.
package protocol StripeDesk: Sendable {
    /// Answers a request of the code.
    /// - Parameter key: the same for a repetition of the same request, by which money moves once.
    /// - Throws: what keeps the shop itself from answering; a refusal is an answer.
    func answer(_ request: StripeRequest, key: String) async throws -> StripeAnswer
}

extension StripeClient: StripeDesk {
    /// By which Stripe's own log tells the code's requests from the shop's.
    private static let codeAgent = "Satchel cloud code"

    /// Asks without a version: the code was written for the one that the account has.
    package func answer(_ request: StripeRequest, key: String) async -> StripeAnswer {
        let path = request.escapedPath
        let response: OutboundResponse
        do {
            response = try await send(
                request.method, path, request.form, key: request.method == .post ? key : nil,
                headers: [("User-Agent", Self.codeAgent)])
        } catch {
            logger.error(
                "Stripe did not answer a request of cloud code.",
                metadata: ["stripe.path": "/v1/\(request.route)", "error": "\(error)"])
            return .none
        }
        if [401, 403].contains(response.status) {
            logger.critical(
                "Stripe refuses the shop's key for a request of cloud code.",
                metadata: ["stripe.path": "/v1/\(request.route)", "stripe.status": "\(response.status)"])
        }
        return StripeAnswer(response)
    }
}
