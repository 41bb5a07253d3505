import Foundation
import NIOCore
import NIOHTTP1

/// A request as sent on the wire: the given parts, `Host` and the length of its body.
struct HTTPRequest: Sendable {
    /// The peer's address and port.
    let address: SocketAddress
    let head: HTTPRequestHead
    let body: ByteBuffer

    /// - Parameters:
    ///   - url: `http://<IP address>:<port>` and a path; tests reach only this machine. Or `unix:`, the path of a unix
    ///     socket, `:` and a path.
    ///   - headers: `Content-Length` and `Transfer-Encoding` are ignored; use `RawRequest` to send them.
    /// - Throws: `HTTPFailure.refused` for a request that a client must not send.
    init(_ method: HTTPMethod, _ url: String, headers: HTTPHeaders, body: [UInt8]) throws {
        let unix = Self.unixParts(of: url)
        let text = unix.map { "http://127.0.0.1:80\($0.path)" } ?? url
        guard let parts = URL(string: text).flatMap({ URLComponents(url: $0, resolvingAgainstBaseURL: true) }),
            parts.scheme == "http", let host = parts.host, let port = parts.port
        else { throw HTTPFailure.refused("No URL of this host: \(url)") }
        // RFC 9110, section 9.3.8.
        guard method != .TRACE || body.isEmpty else { throw HTTPFailure.refused("TRACE with a body") }
        address =
            try unix.map { try SocketAddress(unixDomainSocketPath: $0.file) }
            ?? SocketAddress(ipAddress: host, port: port)
        var headers = headers
        headers.remove(name: "Content-Length")
        headers.remove(name: "Transfer-Encoding")
        if !headers.contains(name: "Host") { headers.add(name: "Host", value: "\(host):\(port)") }
        // For methods that define a meaning for a body, the length is sent even when it is 0 (RFC 9110, section 8.6).
        if !body.isEmpty || ![.GET, .HEAD, .DELETE, .CONNECT, .TRACE].contains(method) {
            headers.add(name: "Content-Length", value: String(body.count))
        }
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
        head = HTTPRequestHead(version: .http1_1, method: method, uri: path + query, headers: headers)
        self.body = ByteBuffer(bytes: body)
    }

    private static func unixParts(of url: String) -> (file: String, path: String)? {
        let parts = url.split(separator: ":", maxSplits: 2)
        guard parts.count == 3, parts[0] == "unix" else { return nil }
        return (String(parts[1]), String(parts[2]))
    }
}

/// A complete answer, unmodified.
struct HTTPAnswer: Sendable {
    let head: HTTPResponseHead
    let body: ByteBuffer
    /// Whether the connection ends with this answer.
    let isLast: Bool

    var bytes: [UInt8] { Array(body.readableBytesView) }
}

/// The reasons why there is no complete answer.
enum HTTPFailure: Error {
    /// The connection ended before the answer was complete.
    case closed
    case timedOut
    /// The client refused to send the request.
    case refused(String)
}
