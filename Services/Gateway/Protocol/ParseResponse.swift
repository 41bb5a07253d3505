import HTTPTypes
import ParseProtocol

/// The response of the protocol to a `ParseRequest`, before HTTP. `ResponseWriter` encodes it.
struct ParseResponse: Sendable {
    var status: Int
    var body: [UInt8]
    /// Sent instead of `body` when it is set: a cached response.
    var final: FinalBody?
    /// Sent in parts instead of `body` when it is set: a file.
    var stream: ResponseBody?
    var location: String?
    var retryAfterSeconds: Int?
    /// Further headers; they replace default headers such as the content type.
    var headers: HTTPFields = [:]
    /// Whether all callers of the same kind get the same response until its data changes, as the service said. The two
    /// kinds are the master key, and callers without a user.
    var isAlike = false
    /// The encoded form of `headers`, for a page of the storefront that has a tag.
    var page: PageHeads?
    /// The error behind the response; nil for every other response.
    var error: ParseError?

    init(status: Int = 200, body: [UInt8], location: String? = nil) {
        self.status = status
        self.body = body
        self.location = location
    }

    init(_ final: FinalBody) {
        self.init(body: [])
        self.final = final
    }

    /// Whether the body is JSON of the protocol: only a response of another kind has its own content type.
    var isJSON: Bool { headers.isEmpty || headers[.contentType] == nil }

    /// Bytes of a response without a stream.
    var bodyBytes: Int { final?.buffer.readableBytes ?? body.count }

    /// A page for a person's browser.
    init(status: Int = 200, html: String) {
        self.init(status: status, body: Array(html.utf8))
        headers[.contentType] = "text/html; charset=utf-8"
    }

    init(status: Int = 200, _ json: JSON, location: String? = nil) {
        self.init(status: status, body: json.serialized, location: location)
    }
}
