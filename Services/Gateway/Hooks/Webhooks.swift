import Logging
import Outbound
import ParseProtocol
import Synchronization

/// Calls webhooks: one POST each, never repeated, because a webhook may do something that must not be done twice.
final class Webhooks: Sendable {
    private let client: OutboundClient
    private let key: String?
    private let timeout: Duration
    private let awaitsAfter: Bool
    private let logger: Logger
    private let waiting = Atomic<Int>(0)

    /// Bytes of a webhook's answer, such as the objects of a find.
    private static let answerBytesMax = 8 << 20
    /// Calls that nobody waits for, under way at once. Past this a webhook is too slow for what happens, and the newest
    /// are left out.
    private static let laterMax = 512

    init(client: OutboundClient, settings: CloudSettings, logger: Logger) {
        self.client = client
        key = settings.webhookKey
        timeout = settings.webhookTimeout
        awaitsAfter = settings.awaitsAfterHooks
        self.logger = logger
    }

    /// Calls a webhook and returns the value of `success`.
    /// - Throws: the webhook's own error; `.webhookError` (143) when there is no answer or none that can be taken;
    ///   `.invalidKeyName` (105) for prohibited members in it.
    func call(_ url: String, _ body: [String: JSON]) async throws(ParseError) -> JSON {
        var request = OutboundRequest(
            .post, url, headers: [("Content-Type", "application/json"), ("Accept", "application/json")],
            body: JSON.object(body).serialized, timeout: timeout)
        if let key { request.headers.append(("X-Parse-Webhook-Key", key)) }
        request.answerBytesMax = Self.answerBytesMax
        let answer: OutboundResponse
        do throws(OutboundFailure) {
            answer = try await client.send(request)
        } catch {
            log("\(error)", body)
            throw WebhookAnswer.failure(error.reason)
        }
        do throws(ParseError) {
            return try WebhookAnswer.success(status: answer.status, body: answer.body)
        } catch {
            if error.code == .webhookError || error.code == .invalidKeyName { log(error.message, body) }
            throw error
        }
    }

    /// Makes a call that has no say any more, and waits for it where the operator wants the answer to come after it.
    /// Its own failures are in the log; the change it is told of stands.
    func afterwards(_ call: @escaping @Sendable () async throws -> Void) async {
        guard awaitsAfter else { return later(call) }
        try? await call()
    }

    private func later(_ call: @escaping @Sendable () async throws -> Void) {
        guard waiting.wrappingAdd(1, ordering: .relaxed).newValue <= Self.laterMax else {
            waiting.wrappingSubtract(1, ordering: .relaxed)
            return log("Too many calls are under way.", [:])
        }
        Task {
            // It may take longer than the answer that it comes after.
            await CallDeadline.$current.withValue(nil) { try? await call() }
            waiting.wrappingSubtract(1, ordering: .relaxed)
        }
    }

    /// The webhook's name only: its URL may hold a secret.
    private func log(_ problem: String, _ body: [String: JSON]) {
        let name = body["functionName"]?.stringValue ?? body["triggerName"]?.stringValue ?? ""
        let className = body["object"]?["className"]?.stringValue ?? body["query"]?["className"]?.stringValue ?? ""
        logger.warning(
            "A webhook failed.",
            metadata: ["hook.name": "\(name)", "hook.class": "\(className)", "hook.problem": "\(problem)"])
    }
}
