import HTTPTypes
import MessageBus
import Messages
import ParseProtocol

/// `POST /api/<project>/envelope/` and `/store/`, where Sentry SDKs send crash reports. The paths are outside the
/// mount, because the SDK builds them from its DSN. The gateway passes the body on unchanged; `crash` checks it.
struct SentryController: Sendable {
    let services: ServiceClient

    func report(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let path = request.path
        guard path.count == 3 else { throw ParseRouter.noRoute }
        let key = try publicKey(request)
        let message = CrashReport.with {
            $0.projectID = String(path[1])
            $0.contentEncoding = request.headers[.contentEncoding] ?? ""
            $0.publicKey = key
            $0.isEvent = path[2] == "store"
        }
        let reply = try await services.write(
            CrashCalls.envelope, message, documents: [request.body],
            for: .of(network: request.network), in: request.call)
        let answer = try reply.message
        guard answer.status != 200 else { return Self.readable(ParseResponse(body: try reply.document)) }
        return refusal(answer)
    }

    /// SDKs read the status and the two headers that tell them how long to pause.
    private func refusal(_ answer: CrashAnswer) -> ParseResponse {
        var response = ParseResponse(status: Int(answer.status), ["detail": .string(answer.detail), "causes": []])
        response.headers[Self.errorName] = answer.detail
        if answer.retryAfterSeconds > 0 {
            response.retryAfterSeconds = Int(answer.retryAfterSeconds)
            response.headers[Self.rateLimitsName] = "\(answer.retryAfterSeconds)::key"
        }
        return Self.readable(response)
    }

    /// Lets a browser's SDK read the rate limit headers.
    private static func readable(_ response: ParseResponse) -> ParseResponse {
        var response = response
        response.headers[.accessControlExposeHeaders] = "X-Sentry-Error, X-Sentry-Rate-Limits, Retry-After"
        return response
    }

    /// `X-Sentry-Auth: Sentry sentry_version=7, sentry_key=…`, the same in `Authorization`, or `?sentry_key=…`.
    private func publicKey(_ request: ParseRequest) throws(ParseError) -> String {
        for name in [Self.authName, .authorization] {
            guard let value = request.headers[name], value.utf8.count <= Self.authBytesMax, value.hasPrefix("Sentry ")
            else { continue }
            for part in value.dropFirst(7).split(separator: ",") {
                let pair = part.split(separator: "=", maxSplits: 1)
                if pair.count == 2, pair[0].drop(while: { $0 == " " }) == "sentry_key" {
                    return pair[1].trimmingSuffix(while: { $0 == " " })
                }
            }
        }
        return try request.options(asTexts: true)["sentry_key"]?.stringValue ?? ""
    }

    private static let authName = headerName("X-Sentry-Auth")
    private static let errorName = headerName("X-Sentry-Error")
    private static let rateLimitsName = headerName("X-Sentry-Rate-Limits")
    private static let authBytesMax = 2048
}

extension Substring {
    fileprivate func trimmingSuffix(while isUnwanted: (Character) -> Bool) -> String {
        var text = self
        while let last = text.last, isUnwanted(last) { text.removeLast() }
        return String(text)
    }
}
