import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ParseProtocol

/// Where requests go and who sends them.
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
    private let http: HTTPClient

    /// A batch of 200 answers within a second; a minute is for a machine under load.
    private static let timeout = TimeAmount.seconds(60)
    /// 1,000 objects at the protocol's limit of 128 KB never come back here; 16 MB is ample for our pages.
    private static let answerBytesMax = 16 << 20
    /// How often a 503 is tried before it is reported.
    static let attemptsMax = 6

    /// Runs `body` with a client and closes its connections afterwards.
    static func connected<Result: Sendable>(
        to endpoint: Endpoint, _ body: (Gateway) async throws -> Result
    ) async throws -> Result {
        // A redirect must not carry the master key to another host.
        let configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: .seconds(5)))
        return try await HTTPClient.withHTTPClient(configuration: configuration) {
            try await body(Gateway(endpoint: endpoint, http: $0))
        }
    }

    /// Sends a request that may safely be repeated, and repeats it while the answer is 503.
    /// - Parameter path: relative to the mount, for example `/classes/Product`.
    /// - Throws: `SetupError.refused` for any answer outside 200...299, `unreachable` without one.
    func send(
        _ method: HTTPMethod, _ path: String, query: [String: JSON] = [:], body: JSON? = nil
    ) async throws -> JSON {
        for _ in 1..<Gateway.attemptsMax {
            do {
                return try await sendOnce(method, path, query: query, body: body)
            } catch SetupError.refused(_, _, _, let retryAfter?) {
                try await Task.sleep(for: retryAfter)
            }
        }
        return try await sendOnce(method, path, query: query, body: body)
    }

    /// Sends a request exactly once, for those whose repetition would do something twice.
    func sendOnce(
        _ method: HTTPMethod, _ path: String, query: [String: JSON] = [:], body: JSON? = nil
    ) async throws -> JSON {
        try await perform(method, path, query: query, content: body.map { ("application/json", $0.serialized) })
    }

    /// Uploads a file, and again while the answer is 503.
    /// - Returns: `{"name":…,"url":…}`.
    func upload(_ bytes: [UInt8], as name: String, contentType: String) async throws -> JSON {
        for _ in 1..<Gateway.attemptsMax {
            do {
                return try await perform(.POST, "/files/\(name)", content: (contentType, bytes))
            } catch SetupError.refused(_, _, _, let retryAfter?) {
                try await Task.sleep(for: retryAfter)
            }
        }
        return try await perform(.POST, "/files/\(name)", content: (contentType, bytes))
    }

    private func perform(
        _ method: HTTPMethod, _ path: String, query: [String: JSON] = [:], content: (type: String, bytes: [UInt8])?
    ) async throws -> JSON {
        let request = "\(method.rawValue) \(endpoint.mount)\(path)"
        var message = HTTPClientRequest(url: endpoint.base + path + Gateway.queryText(query))
        message.method = method
        message.headers.add(name: "X-Parse-Application-Id", value: endpoint.applicationId)
        message.headers.add(name: "X-Parse-Master-Key", value: endpoint.masterKey)
        if let content {
            message.headers.add(name: "Content-Type", value: content.type)
            message.body = .bytes(content.bytes)
        }
        let response: HTTPClientResponse
        let bytes: ByteBuffer
        do {
            response = try await http.execute(message, timeout: Gateway.timeout)
            bytes = try await response.body.collect(upTo: Gateway.answerBytesMax)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw SetupError.unreachable(request: request, reason: "\(error)")
        }
        let answer = try? JSON(parsing: bytes.readableBytesView)
        guard (200..<300).contains(response.status.code) else {
            throw SetupError.refused(
                request: request, status: Int(response.status.code), error: answer.flatMap(ParseError.init(answer:)),
                retryAfter: response.status == .serviceUnavailable ? Gateway.retryAfter(response.headers) : nil)
        }
        guard let answer else { throw SetupError.unexpectedAnswer(request: request) }
        return answer
    }

    /// The wait a 503 asks for in whole seconds (RFC 9110, section 10.2.3), between 0.2 and 30 seconds; one second
    /// when it does not say.
    private static func retryAfter(_ headers: HTTPHeaders) -> Duration {
        guard let seconds = headers.first(name: "Retry-After").flatMap(Int.init) else { return .seconds(1) }
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
