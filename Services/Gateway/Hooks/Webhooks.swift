import Logging
import Outbound
import ParseProtocol
import Synchronization

/// Calls webhooks: one POST each, never retried, because a webhook may not be idempotent.
final class Webhooks: Sendable {
    /// Adds URLs to files, which stored objects name only.
    let links: FileLinks
    private let client: OutboundClient
    private let key: String?
    private let timeout: Duration
    let awaitsAfter: Bool
    private let logger: Logger
    private let waiting = Atomic<Int>(0)

    /// Bytes of a webhook's response, such as the objects of a find.
    private static let answerBytesMax = 8 << 20
    /// Concurrent calls for which no response waits. Past the limit the webhook is too slow for the load, and new calls
    /// are dropped.
    private static let laterMax = 512

    init(client: OutboundClient, links: FileLinks, settings: CloudSettings, logger: Logger) {
        self.links = links
        self.client = client
        key = settings.webhookKey
        timeout = settings.webhookTimeout
        awaitsAfter = settings.awaitsAfterHooks
        self.logger = logger
    }

    /// Calls a webhook and returns the value of `success`.
    /// - Throws: the webhook's error; `.scriptFailed` (141) when there is no usable response; `.invalidKeyName` (105)
    ///   for prohibited members in it.
    func call(_ url: String, _ body: [String: JSON]) async throws(ParseError) -> JSON {
        var request = OutboundRequest(
            .post, url, headers: [("Content-Type", "application/json"), ("Accept", "application/json")],
            body: links.linked(JSON.object(body).serialized), timeout: timeout)
        if let key { request.headers.append(("X-Parse-Webhook-Key", key)) }
        request.answerBytesMax = Self.answerBytesMax
        let trace = RequestTrace.current?.context
        let span = RunningSpan("webhook", .client, of: trace)
        if let trace = span?.context ?? trace { request.headers.append((TraceContext.header, trace.text)) }
        let answer: OutboundResponse
        do throws(OutboundFailure) {
            answer = try await client.send(request)
            span?.end(["http.response.status_code": .int(Int64(answer.status))], isError: answer.status >= 500)
        } catch {
            span?.end(isError: true)
            log("\(error)", body)
            throw WebhookAnswer.failure(error.reason)
        }
        switch WebhookAnswer.outcome(status: answer.status, body: answer.body) {
        case .success(let value): return value
        case .refusal(let error): throw error
        case .fault(let error):
            log(error.message, body)
            throw error
        }
    }

    /// Makes a call after a change, and waits for it when the operator configured that. A failure does not undo the
    /// change.
    /// - Throws: the refusal of an awaited call. Errors that let clients retry the request are not thrown: the change
    ///   must not be made twice.
    func afterwards(_ call: @escaping @Sendable () async throws -> Void) async throws(ParseError) {
        guard awaitsAfter else { return later(call) }
        do {
            try await call()
        } catch let error as ParseError {
            if error.code.httpStatus < 429 { throw error }
        } catch {}
    }

    private func later(_ call: @escaping @Sendable () async throws -> Void) {
        guard waiting.wrappingAdd(1, ordering: .relaxed).newValue <= Self.laterMax else {
            waiting.wrappingSubtract(1, ordering: .relaxed)
            return log("Too many calls are in flight.", [:])
        }
        Task {
            try? await call()
            waiting.wrappingSubtract(1, ordering: .relaxed)
        }
    }

    /// Logs only the webhook's name, because its URL may hold a secret.
    private func log(_ problem: String, _ body: [String: JSON]) {
        let name = body["functionName"]?.stringValue ?? body["triggerName"]?.stringValue ?? ""
        let className = body["object"]?["className"]?.stringValue ?? body["query"]?["className"]?.stringValue ?? ""
        logger.warning(
            "A webhook failed.",
            metadata: ["hook.name": "\(name)", "hook.class": "\(className)", "hook.problem": "\(problem)"])
    }
}
