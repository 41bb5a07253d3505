import HTTPTypes
import ParseProtocol

/// The headers of downloads. Files share the shop's origin, so that the headers must stop browsers from running their
/// content.
enum FileHeaders {
    static func common(name: String, contentType: String, etag: String) -> HTTPFields {
        var headers: HTTPFields = [
            .contentType: FileNames.shownType(contentType),
            .eTag: etag,
            .acceptRanges: "bytes",
            // The content never changes, so that clients may cache it for a year.
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
