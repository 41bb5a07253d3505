import HTTPTypes

/// A request that a task answers: its head, and its body as it arrives.
package struct Request: Sendable {
    /// Method, target and headers.
    package let head: HTTPRequest
    /// Path and query of the target.
    package let uri: URI
    /// The body. Parts that the task does not read are dropped when the request is answered.
    package let body: RequestBody

    /// - Parameter body: may be incomplete.
    init(head: HTTPRequest, body: RequestBody) {
        self.head = head
        uri = URI(head.path ?? "")
        self.body = body
    }

    var method: HTTPRequest.Method { head.method }
    var headers: HTTPFields { head.headerFields }
}

/// Path and query of a request's target (RFC 9112, section 3.2), as the client wrote them.
package struct URI: Sendable, Equatable {
    /// The path without scheme and authority. Never empty.
    package let path: String
    /// The text after `?`, without a fragment; nil for a target without `?`.
    package let query: String?

    /// - Parameter target: in any of its forms; every text is valid.
    package init(_ target: String) {
        let bytes = target.utf8
        var rest = bytes[...]
        if rest.first != UInt8(ascii: "/"), let authority = Self.afterScheme(rest) {
            rest = authority.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        }
        let path = rest.prefix { $0 != UInt8(ascii: "?") }
        self.path = path.isEmpty ? "/" : String(Substring(path))
        let query = rest[path.endIndex...]
        self.query =
            query.isEmpty ? nil : String(Substring(query.dropFirst().prefix { $0 != UInt8(ascii: "#") }))
    }

    /// The text after `://`; nil for a text without it.
    private static func afterScheme(_ text: Substring.UTF8View) -> Substring.UTF8View? {
        let mark = Array("://".utf8)
        var rest = text
        while let colon = rest.firstIndex(of: mark[0]) {
            rest = rest[colon...]
            if rest.starts(with: mark) { return rest.dropFirst(mark.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}
