import HTTPTypes
import ParseProtocol

/// The answer to a `ParseRequest`.
struct ParseResponse: Sendable {
    var status: Int
    var body: [UInt8]
    /// Sent instead of `body` when it is set: an answer that may be kept, or was.
    var final: FinalBody?
    /// Sent instead of `body` when it is set, a part at a time: files.
    var stream: ResponseBody?
    var location: String?
    var retryAfterSeconds: Int?
    /// Further headers; they replace those that every answer has, such as the content type.
    var headers: HTTPFields = [:]
    /// The error that it was made of; nil for every other answer.
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

    /// Bytes of an answer that is sent at once, as far as they are counted.
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
