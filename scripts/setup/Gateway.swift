import Foundation
import Outbound
import ParseProtocol

/// The address that requests go to and the keys they are sent with.
struct Endpoint: Sendable {
    /// URL with the mount path, without a slash at the end.
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

    /// A batch of 200 answers within a second; a minute is for a machine under load.
    private static let timeout = Duration.seconds(60)
    /// 1,000 objects at the protocol's limit of 128 KB never come back here; 16 MB is ample for our pages.
    private static let answerBytesMax = 16 << 20
    /// Attempts at a request that is answered 503, before that is reported.
    static let attemptsMax = 6

    /// Runs `body` with a client, whose connections end with it.
    static func connected<Result: Sendable>(
        to endpoint: Endpoint, _ body: (Gateway) async throws -> Result
    ) async throws -> Result {
        try await body(Gateway(endpoint: endpoint, http: OutboundClient()))
    }

    /// Sends a request that may safely be repeated, and repeats it while the answer is 503.
    /// - Parameter path: relative to the mount, for example `/classes/Product`.
    /// - Throws: `SetupError.refused` for any answer outside 200...299, `unreachable` without one.
    func send(
        _ method: OutboundRequest.Method, _ path: String, query: [String: JSON] = [:], body: JSON? = nil
    ) async throws -> JSON {
        try await repeated(method, path + Gateway.queryText(query), body.map { ("application/json", $0.serialized) })
    }

    /// Uploads a file, and again while the answer is 503.
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
        // The master key is for nobody in between.
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

    /// The wait a 503 asks for in whole seconds (RFC 9110, section 10.2.3), between 0.2 and 30 seconds; one second
    /// when it does not say.
    private static func retryAfter(_ header: String?) -> Duration {
        guard let seconds = header.flatMap({ Int($0) }) else { return .seconds(1) }
        return max(.milliseconds(200), .seconds(min(seconds, 30)))
    }

    private static func queryText(_ query: [String: JSON]) -> String {
        guard !query.isEmpty else { return "" }
        let unreserved = CharacterSet(charactersIn: "-._~").union(.init(charactersIn: "a"..."z"))
            .union(.init(charactersIn: "A"..."Z")).union(.init(charactersIn: "0"..."9"))
        let pairs = query.sorted { $0.key < $1.key }.map { name, value in
            let text = value.stringValue ?? value.serializedText
            return "\(name)=\(text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "")"
        }
        return "?" + pairs.joined(separator: "&")
    }
}
