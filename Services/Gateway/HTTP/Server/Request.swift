import HTTPTypes

/// A request of a connection that is answered by a task: its head, and its body as it comes.
package struct Request: Sendable {
    /// Method, target and headers.
    package let head: HTTPRequest
    /// Path and query of the target.
    package let uri: URI
    /// What stands behind the head. What nobody reads of it is dropped when the request is answered.
    package let body: RequestBody

    /// - Parameter body: of which the end may still have to come.
    init(head: HTTPRequest, body: RequestBody) {
        self.head = head
        uri = URI(head.path ?? "")
        self.body = body
    }

    var method: HTTPRequest.Method { head.method }
    var headers: HTTPFields { head.headerFields }
}

/// The parts of a request's target that decide about its answer (RFC 9112, section 3.2), as they were written.
package struct URI: Sendable, Equatable {
    /// Everything before the query, without scheme and authority. Never empty.
    package let path: String
    /// What stands behind `?`, without a fragment; nil without one.
    package let query: String?

    /// - Parameter target: in any of its forms; nothing makes it invalid.
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

    /// What follows `://`; nil where that is not.
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
