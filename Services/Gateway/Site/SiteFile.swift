import HTTPTypes
import NIOCore
import ParseProtocol

/// A file of the pages as it goes out, plain and compressed, with the headers that it has.
struct SiteFile: Sendable {
    private let plain: FinalBody
    /// Nil where it would save nothing.
    private let gzipped: FinalBody?
    private let headers: HTTPFields

    /// Bytes below which a compressed file is hardly shorter than its own header.
    private static let plainBytesMax = 256

    /// - Parameter headers: content type, caching and policy.
    init(_ bytes: [UInt8], headers: HTTPFields) {
        plain = FinalBody(bytes)
        let small = bytes.count > Self.plainBytesMax ? Gzip.compressed(bytes) : nil
        gzipped = small.flatMap { $0.count < bytes.count ? FinalBody($0) : nil }
        self.headers = headers
    }

    /// The answer to a `GET`; 304 for a client that has these bytes.
    func answer(to asked: HTTPFields) -> ParseResponse {
        let body = gzipped.flatMap { Self.takesGzip(asked[.acceptEncoding]) ? $0 : nil } ?? plain
        let isKnown = asked[.ifNoneMatch].map { EntityTag.isNamed(body.tag, in: $0) } ?? false
        var response = isKnown ? ParseResponse(status: 304, body: []) : ParseResponse(body)
        response.headers = headers
        response.headers[.eTag] = body.tag
        // What the whole answer would have had: without it the server would say 0.
        if isKnown { response.headers[.contentLength] = String(body.buffer.readableBytes) }
        if gzipped != nil, body.tag != plain.tag, !isKnown { response.headers[.contentEncoding] = "gzip" }
        return response
    }

    /// Whether an `Accept-Encoding` admits gzip (RFC 9110, section 12.5.3). What refuses it by `q=0` gets it plain.
    static func takesGzip(_ header: String?) -> Bool {
        guard let header else { return false }
        return header.lowercased().split(separator: ",").contains { part in
            let words = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard words.first == "gzip" || words.first == "x-gzip" else { return false }
            let weight = words.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
            return weight.flatMap { Double($0) } != 0
        }
    }
}
