import ObjectStore
import Outbound
import ParseProtocol

/// The answer to a Stripe request of cloud code: a status and JSON. A refusal is an `error` object like Stripe's
/// (https://docs.stripe.com/api/errors).
package struct StripeAnswer: Sendable, Equatable {
    /// The HTTP status: Stripe's, or the status that Stripe uses for similar errors.
    package let status: Int
    package let body: JSON

    package init(status: Int, body: JSON) {
        self.status = status
        self.body = body
    }

    /// The sandbox's refusal.
    /// - Parameter isMissing: whether the path names an object that does not exist.
    init(_ failure: ProviderFailure, isMissing: Bool) {
        let refusal = failure.type == "card_error" ? 402 : 400
        self.init(status: isMissing ? 404 : refusal, body: ["error": failure.json])
    }

    /// Stripe's answer. Replaces messages about the shop's key, because they repeat a part of the key.
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
                "Stripe refuses the shop's key for this; the operator must check it.")
        default:
            guard let error = body?["error"], error.objectValue != nil else {
                let status = answer.status >= 400 ? answer.status : 502
                self = Self.trouble(status, "api_error", "Stripe answered with status \(answer.status).")
                return
            }
            self.init(status: answer.status, body: ["error": error])
        }
    }

    /// No complete answer arrived.
    static let none = trouble(
        502, "api_connection_error", "Stripe did not answer; the outcome of the request is unknown.")

    private static func trouble(_ status: Int, _ type: String, _ message: String) -> StripeAnswer {
        StripeAnswer(status: status, body: ["error": ["type": .string(type), "message": .string(message)]])
    }
}

/// The provider's interface for cloud code that uses hosted Parse's module for Stripe.
package protocol StripeAPI: Sendable {
    /// Answers a request of the code.
    /// - Parameters:
    ///   - key: the same for a retry of the same request, so that money moves once.
    ///   - share: what work in the service's database counts for.
    /// - Throws: errors of the shop itself; a refusal by the provider is an answer.
    func answer(_ request: StripeRequest, key: String, for share: WorkShare?) async throws -> StripeAnswer
}

extension StripeClient: StripeAPI {
    /// Distinguishes the code's requests from the shop's in Stripe's own log.
    private static let codeAgent = "Satchel cloud code"

    /// Sends no version header: the code was written for the account's own version.
    package func answer(_ request: StripeRequest, key: String, for _: WorkShare?) async -> StripeAnswer {
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
