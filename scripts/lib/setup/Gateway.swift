import Foundation
import Outbound
import ParseProtocol

/// The address of the gateway and the keys for requests.
struct Endpoint: Sendable {
    /// URL with the mount path, without a trailing slash.
    var base: String
    /// The path part of `base`; the paths inside a batch begin with it.
    var mount: String
    var applicationId: String
    var masterKey: String
}

/// A Parse REST client with the master key.
struct Gateway: Sendable {
    let endpoint: Endpoint
    private let http: OutboundClient

    /// A batch of 200 answers within a second; a minute allows for a machine under load.
    private static let timeout = Duration.seconds(60)
    /// Large enough for this program's pages, which never contain 1,000 objects of the maximum size of 128 KB.
    private static let answerBytesMax = 16 << 20
    /// Maximum attempts of a request that is answered with 503.
    static let attemptsMax = 6

    /// Runs `body` with a client and closes the client's connections afterwards.
    static func connected<Result: Sendable>(
        to endpoint: Endpoint, _ body: (Gateway) async throws -> Result
    ) async throws -> Result {
        try await body(Gateway(endpoint: endpoint, http: OutboundClient()))
    }

    /// Sends an idempotent request, and repeats it while the answer is 503.
    /// - Parameter path: relative to the mount, for example `/classes/Product`.
    /// - Throws: `SetupError.refused` for any answer outside 200...299, `unreachable` when there is no answer.
    func send(
        _ method: OutboundRequest.Method, _ path: String, query: [String: JSON] = [:], body: JSON? = nil
    ) async throws -> JSON {
        try await repeated(method, path + query.queryText, body.map { ("application/json", $0.serialized) })
    }

    /// Uploads a file, and repeats that while the answer is 503.
    /// - Returns: `{"name":…,"url":…}`.
    func upload(_ bytes: [UInt8], as name: String, contentType: String) async throws -> JSON {
        try await repeated(.post, "/files/\(name)", (contentType, bytes))
    }

    private func repeated(
        _ method: OutboundRequest.Method, _ path: String, _ content: (type: String, bytes: [UInt8])?
    ) async throws -> JSON {
        for _ in 1..<Gateway.attemptsMax {
            do {
                return try await perform(method, path, content)
            } catch SetupError.refused(_, _, _, let retryAfter?) {
                try await Task.sleep(for: retryAfter)
            }
        }
        return try await perform(method, path, content)
    }

    private func perform(
        _ method: OutboundRequest.Method, _ path: String, _ content: (type: String, bytes: [UInt8])?
    ) async throws -> JSON {
        let name = "\(method.rawValue) \(endpoint.mount)\(path.prefix { $0 != "?" })"
        var request = OutboundRequest(
            method, endpoint.base + path,
            headers: [
                ("X-Parse-Application-Id", endpoint.applicationId), ("X-Parse-Master-Key", endpoint.masterKey),
            ], timeout: Gateway.timeout)
        if let content {
            request.headers.append(("Content-Type", content.type))
            request.body = content.bytes
        }
        request.answerBytesMax = Gateway.answerBytesMax
        request.isRepeatable = true
        // Bypasses proxies, which must not see the master key.
        request.isDirect = true
        let response: OutboundResponse
        do throws(OutboundFailure) {
            response = try await http.send(request)
        } catch {
            guard error.reason != .cancelled else { throw CancellationError() }
            throw SetupError.unreachable(request: name, reason: "\(error)")
        }
        let answer = try? JSON(parsing: response.body)
        guard (200..<300).contains(response.status) else {
            throw SetupError.refused(
                request: name, status: response.status, error: answer.flatMap(ParseError.init(answer:)),
                retryAfter: response.status == 503 ? Gateway.retryAfter(response.headers["retry-after"]) : nil)
        }
        guard let answer else { throw SetupError.unexpectedAnswer(request: name) }
        return answer
    }

    /// The delay requested by a 503 in whole seconds (RFC 9110, section 10.2.3), between 0.2 and 30 seconds; one second
    /// by default.
    private static func retryAfter(_ header: String?) -> Duration {
        guard let seconds = header.flatMap({ Int($0) }) else { return .seconds(1) }
        return max(.milliseconds(200), .seconds(min(seconds, 30)))
    }
}
