import HTTPTypes
import Messages
import NIOCore

/// A file of the pages in its final form, uncompressed and in gzip, with its headers.
struct SiteFile: Sendable {
    /// One of the two forms.
    struct Form: Sendable {
        let body: FinalBody
        /// Content type, caching, policy and encoding, without the `ETag`.
        let headers: HTTPFields
    }

    let uncompressed: Form
    /// Nil when compression would save nothing.
    let gzipped: Form?

    /// - Parameter file: as `web` sent it.
    init(_ file: WebFile) {
        let headers = file.headers.reduce(into: HTTPFields()) { headers, header in
            if let name = HTTPField.Name(header.name) { headers[name] = header.value }
        }
        var ofGzipped = headers
        ofGzipped[.contentEncoding] = "gzip"
        uncompressed = Form(body: FinalBody(Array(file.content)), headers: headers)
        gzipped = file.gzipped.isEmpty ? nil : Form(body: FinalBody(Array(file.gzipped)), headers: ofGzipped)
    }

    /// The response to a `GET`; 304 for a client that has these bytes.
    func answer(to asked: HTTPFields) -> ParseResponse {
        let form = Self.form(uncompressed, gzipped, for: asked[.acceptEncoding])
        let body = form.body
        let isNotModified = EntityTag.isNamed(body.tag, in: asked[.ifNoneMatch])
        var response = isNotModified ? ParseResponse(status: 304, body: []) : ParseResponse(body)
        response.headers = form.headers
        response.headers[.eTag] = body.tag
        if isNotModified {
            response.headers[.contentEncoding] = nil
            // The length of the full response; without this line the server would send 0.
            response.headers[.contentLength] = String(body.buffer.readableBytes)
        }
        return response
    }

    /// The form that a client with this `Accept-Encoding` gets.
    static func form<Form>(_ uncompressed: Form, _ gzipped: Form?, for accepted: String?) -> Form {
        guard let gzipped, takesGzip(accepted) else { return uncompressed }
        return gzipped
    }

    /// Whether an `Accept-Encoding` admits gzip (RFC 9110, section 12.5.3). `q=0` refuses it.
    static func takesGzip(_ header: String?) -> Bool {
        guard let header else { return false }
        if browsersTakeGzip.contains(header) { return true }
        return header.lowercased().split(separator: ",").contains { part in
            let words = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard words.first == "gzip" || words.first == "x-gzip" else { return false }
            let weight = words.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
            return weight.flatMap { Double($0) } != 0
        }
    }

    /// The values that browsers send over TLS and HTTP, which need no parsing.
    private static let browsersTakeGzip = ["gzip, deflate, br, zstd", "gzip, deflate, br", "gzip, deflate", "gzip"]
}
