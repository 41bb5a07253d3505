import HTTPTypes
import ParseProtocol

/// The headers of downloads. Files share the shop's origin, so the headers must stop browsers from running their
/// content.
enum FileHeaders {
    static func common(name: String, contentType: String, etag: String) -> HTTPFields {
        var headers: HTTPFields = [
            .contentType: FileNames.shownType(contentType),
            .eTag: etag,
            .acceptRanges: "bytes",
            // The content never changes, so clients may cache it for a year.
            .cacheControl: "public, max-age=31536000, immutable",
            .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "default-src 'none'; sandbox",
        ]
        headers[crossOriginResourcePolicy] = "cross-origin"
        headers[.contentDisposition] = FileNames.disposition(name, contentType: contentType)
        return headers
    }

    private static let crossOriginResourcePolicy = headerName("Cross-Origin-Resource-Policy")
}
