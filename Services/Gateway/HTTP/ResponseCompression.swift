import Compression
import HTTPTypes
import Messages

/// The rules by which a response is compressed.
///
/// The size of a compressed response depends on its content (BREACH, 2013): an attacker who can place chosen text
/// beside a secret and see the sizes learns the secret. Therefore only responses without secrets of an account are
/// compressed: objects of the shop's own classes, Satchel's reading functions except those of `users`, and schemas.
/// Sessions, sign-in, users, installations, config, hooks, batches and functions of cloud code, which may return a
/// session token, are not. No other site can send a request with a session: it is a header, which a browser never adds
/// by itself. A page of the storefront is compressed for visitors without a session, because the session's cookie is
/// sent with links of other sites.
///
/// Streams, files and exports have their own headers and are sent as they are, and so is the response to `HEAD`.
enum ResponseCompression {
    /// Smaller bodies fit into one packet anyway.
    static let bytesMin = 1 << 10
    /// Compressing more than this takes an event loop too long: about 0.15 ms.
    static let loopBytesMax = 16 << 10
    /// A larger body would occupy a thread for more than about 30 ms.
    static let bytesMax = 4 << 20

    /// Whether the client accepts gzip, and a route's responses may be compressed.
    static func shouldCompress(
        _ answer: ParseResponse, to exchange: RequestExchange, _ functions: FunctionsController
    ) -> Bool {
        // First, so that small objects pay for nothing else.
        guard (bytesMin...bytesMax).contains(answer.bodyBytes), answer.stream == nil,
            answer.page != nil || answer.headers.isEmpty || answer.headers[.contentType] == nil,
            exchange.head.method != .head,
            SiteFile.takesGzip(exchange.head.headerFields[.acceptEncoding])
        else { return false }
        guard answer.page == nil else { return answer.final?.gzip != nil }
        return hasNoSecrets(exchange.machine.route, exchange.machine.request.path, functions)
    }

    private static func hasNoSecrets(
        _ route: Route?, _ path: [Substring], _ functions: FunctionsController
    ) -> Bool {
        guard let route, let first = path.first else { return false }
        let name = path.count > 1 ? path[1] : ""
        switch first {
        case "classes", "aggregate": return route.tag == .objects && name.utf8.first != UInt8(ascii: "_")
        case "functions":
            guard !functions.codeReplacesOwn, let owner = ServiceDirectory.service(ofFunction: String(name)) else {
                return false
            }
            return !owner.writes && owner.service != "users"
        case "schemas": return true
        default: return false
        }
    }

    /// - Returns: the body in gzip; nil when less than half would be saved.
    static func gzip(_ body: [UInt8]) -> [UInt8]? { body.withUnsafeBytes { Gzip.quick($0) } }

    /// The tag of a response that may be compressed (RFC 9110, section 8.8.1): equal content, but not equal bytes.
    static func weak(_ tag: String) -> String { "W/\(tag)" }
}
