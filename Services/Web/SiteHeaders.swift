import Foundation
import HTTPTypes

/// The headers of pages for browsers and of their files.
///
/// A page runs only script files from this origin, creates no markup from texts, connects to no other origin, cannot be
/// framed and submits no form elsewhere. A shopper's text therefore never runs in it, even if one of the page's modules
/// has an error.
enum SiteHeaders {
    /// For a page: stored, but revalidated each time, so that it names the files of this release.
    /// - Parameter pictures: further origins of pictures.
    static func page(pictures: [String]) -> HTTPFields {
        var headers = common
        headers[.contentType] = "text/html; charset=utf-8"
        headers[.cacheControl] = "no-cache"
        headers[.contentSecurityPolicy] = policy(pictures: pictures)
        headers[openerPolicyName] = "same-origin"
        headers[permissionsName] = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
        headers[frameName] = "DENY"
        return headers
    }

    /// For a file whose path names its content: it never changes.
    static func file(contentType: String) -> HTTPFields {
        var headers = common
        headers[.contentType] = contentType
        headers[.cacheControl] = "public, max-age=31536000, immutable"
        // Applies when a picture or a text is opened directly.
        headers[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'"
        return headers
    }

    private static let common: HTTPFields = [
        .xContentTypeOptions: "nosniff",
        headerName("Referrer-Policy"): "no-referrer",
        headerName("Cross-Origin-Resource-Policy"): "same-origin",
        // Varies by origin as well, because the response depends on it when only some origins are allowed.
        .vary: "Accept-Encoding, Origin",
    ]

    private static let openerPolicyName = headerName("Cross-Origin-Opener-Policy")
    private static let permissionsName = headerName("Permissions-Policy")
    private static let frameName = headerName("X-Frame-Options")

    /// https://www.w3.org/TR/CSP3/ and, for the last two, https://www.w3.org/TR/trusted-types/.
    static func policy(pictures: [String]) -> String {
        [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "font-src 'self'",
            // Blobs are pictures selected for upload.
            "img-src 'self' blob:" + pictures.map { " " + $0 }.joined(), "base-uri 'none'", "form-action 'self'",
            "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
        ].joined(separator: "; ")
    }

    /// Scheme, host and port of a URL; nil when a policy cannot name them.
    static func origin(of url: String) -> String? {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme, scheme == "http" || scheme == "https",
            let host = parts.percentEncodedHost, !host.isEmpty,
            host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".-:[]".contains($0)) })
        else { return nil }
        return "\(scheme)://\(host)" + (parts.port.map { ":\($0)" } ?? "")
    }
}
