import HTTPTypes
import ParseProtocol

/// The headers of downloads. They are served from the address of the shop itself, so that nothing in a file may run
/// there.
enum FileHeaders {
    static func common(name: String, contentType: String, etag: String) -> HTTPFields {
        var headers: HTTPFields = [
            .contentType: FileNames.shownType(contentType),
            .eTag: etag,
            .acceptRanges: "bytes",
            // A year is as good as for ever: the content never changes.
            .cacheControl: "public, max-age=31536000, immutable",
            .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "default-src 'none'; sandbox",
        ]
        headers[crossOriginResourcePolicy] = "cross-origin"
        headers[.contentDisposition] = FileNames.disposition(name, contentType: contentType)
        return headers
    }

    private static let crossOriginResourcePolicy = headerName("Cross-Origin-Resource-Policy")

    /// Whether one of the versions in an `If-None-Match` header is this one (RFC 9110, section 13.1.2).
    static func matches(_ header: String?, _ etag: String) -> Bool {
        guard let header else { return false }
        return header.split(separator: ",").contains { version in
            let version = version.filter { $0 != " " && $0 != "\t" }
            return version == "*" || version == etag || version == "W/\(etag)"
        }
    }
}
