import Logging
import Outbound
import ParseProtocol

/// Calls Stripe's REST API and classifies its answers: an object, a decision against the card, or trouble.
package struct StripeClient: Sendable {
    /// The API version that this code expects; without the header Stripe uses the account's own version.
    /// https://docs.stripe.com/api/versioning
    package static let version = "2024-06-20"

    private let configuration: StripeConfiguration
    private let transfer: Transfer
    let logger: Logger
    private let keyStanding: StripeKeyHealth

    /// Sends a request and returns the response, whatever its status.
    package typealias Transfer =
        @Sendable (_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundResponse

    /// - Parameter keyStanding: updated after each answer with whether Stripe accepts the shop's key.
    package init(
        _ configuration: StripeConfiguration, outbound: OutboundClient, logger: Logger,
        keyStanding: StripeKeyHealth = StripeKeyHealth()
    ) {
        self.init(configuration, logger: logger, keyStanding: keyStanding) {
            (request: OutboundRequest) async throws(OutboundFailure) -> OutboundResponse in
            try await outbound.send(request)
        }
    }

    package init(
        _ configuration: StripeConfiguration, logger: Logger, keyStanding: StripeKeyHealth = StripeKeyHealth(),
        transfer: @escaping Transfer
    ) {
        self.configuration = configuration
        self.transfer = transfer
        self.logger = logger
        self.keyStanding = keyStanding
    }

    /// Sends a request and returns an object of the type `object`.
    /// - Parameters:
    ///   - path: such as `/v1/customers`.
    ///   - key: for every change; Stripe repeats the first answer to the same key for 24 hours.
    ///   - isRefusal: whether a fault refuses this request for good. The operator has nothing to fix then.
    /// - Throws: `ProviderFailure` for a decision against the card, `StripeTrouble` for everything else.
    package func ask(
        _ method: OutboundRequest.Method, _ path: String, _ form: StripeForm = [:], key: String? = nil, object: String,
        isRefusal: (StripeError) -> Bool = { _ in false }
    ) async throws -> JSON {
        do {
            let found = try await look(method, path, form, key: key, object: object)
            keyStanding.note(isRefused: false)
            return found
        } catch let failure as ProviderFailure {
            keyStanding.note(isRefused: false)
            throw failure
        } catch let trouble as StripeTrouble where trouble.needsOperator {
            if case .fault(let error) = trouble.reason, isRefusal(error), !error.isOfOtherMode {
                keyStanding.note(isRefused: false)
                logger.notice(
                    "Stripe refuses a request for good.",
                    metadata: ["stripe.path": "\(path)", "stripe.problem": "\(trouble)"])
                throw trouble
            }
            if trouble.refusesKey { keyStanding.note(isRefused: true) }
            logger.critical(
                "Stripe refuses the form of a request; payments stay undecided until it is fixed.",
                metadata: ["stripe.path": "\(path)", "stripe.problem": "\(trouble)"])
            throw trouble
        }
    }

    /// As `ask`, for a check: a refusal of it says nothing about payments and changes neither health nor log.
    func look(
        _ method: OutboundRequest.Method, _ path: String, _ form: StripeForm, key: String?, object: String
    ) async throws -> JSON {
        let answer: OutboundResponse
        do {
            answer = try await send(
                method, path, form, key: key, headers: [("Stripe-Version", Self.version), ("User-Agent", "Satchel")])
        } catch {
            throw StripeTrouble(.noAnswer(error))
        }
        return try Self.read(answer, object: object)
    }

    /// Sends a request with the shop's key. The form of a POST is its body; other methods send it as the query.
    func send(
        _ method: OutboundRequest.Method, _ path: String, _ form: StripeForm, key: String?,
        headers: [(name: String, value: String)]
    ) async throws(OutboundFailure) -> OutboundResponse {
        let query = method == .post || form.isEmpty ? "" : "?\(form.encoded)"
        var request = OutboundRequest(method, configuration.url + path + query, timeout: configuration.timeout)
        request.headers = [("Authorization", "Bearer \(configuration.secretKey)")] + headers
        if method == .post {
            request.headers.append(("Content-Type", "application/x-www-form-urlencoded"))
            request.body = Array(form.encoded.utf8)
        }
        if let key {
            request.headers.append(("Idempotency-Key", key))
            request.isRepeatable = true
        }
        return try await transfer(request)
    }

    /// Classifies an answer. Separate from the transfer, so that tests need no network.
    package static func read(_ answer: OutboundResponse, object: String) throws -> JSON {
        let requestId = String((answer.headers["request-id"] ?? "").prefix(100))
        let body = try? JSON(parsing: answer.body)
        switch answer.status {
        case 200...299:
            guard let body, body["object"]?.stringValue == object, object == "list" || body["id"]?.stringValue != nil
            else { throw StripeTrouble(.unreadable(status: answer.status), requestId: requestId) }
            return body
        case 402:
            guard let error = body.flatMap({ StripeError(status: 402, body: $0) }) else { break }
            throw error.failure
        case 400, 401, 403, 404:
            // A page from a proxy says nothing about the payment and is not a refusal by Stripe.
            guard let error = body.flatMap({ StripeError(status: answer.status, body: $0) }) else { break }
            throw StripeTrouble(.fault(error), requestId: requestId)
        case 409, 429, 500...599:
            throw StripeTrouble(
                .later(status: answer.status, isReplayed: answer.headers["idempotent-replayed"] == "true"),
                requestId: requestId, retryAfterSeconds: answer.headers["retry-after"].flatMap(Int.init))
        default: break
        }
        throw StripeTrouble(.unreadable(status: answer.status), requestId: requestId)
    }
}
