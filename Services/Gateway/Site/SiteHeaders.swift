import Foundation
import HTTPTypes

/// The headers of pages for people and of their files.
///
/// A page runs only scripts that came from this address as files, makes no markup from texts, asks no other address
/// for anything, is in no frame and sends no form. What a shopper wrote can therefore never run in it, even if one of
/// the page's modules made a mistake.
enum SiteHeaders {
    /// Of a page: kept, but asked for again each time, so that it names the files of this release.
    /// - Parameter pictures: the origins beside the page's own that pictures may be of.
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

    /// Of a file whose path names its content: it never changes.
    static func file(contentType: String) -> HTTPFields {
        var headers = common
        headers[.contentType] = contentType
        headers[.cacheControl] = "public, max-age=31536000, immutable"
        // For who opens a picture or a text by itself.
        headers[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'"
        return headers
    }

    private static let common: HTTPFields = [
        .xContentTypeOptions: "nosniff",
        headerName("Referrer-Policy"): "no-referrer",
        headerName("Cross-Origin-Resource-Policy"): "same-origin",
        // The origin as well: where only some are allowed, each is told another thing.
        .vary: "Accept-Encoding, Origin",
    ]

    private static let openerPolicyName = headerName("Cross-Origin-Opener-Policy")
    private static let permissionsName = headerName("Permissions-Policy")
    private static let frameName = headerName("X-Frame-Options")

    /// https://www.w3.org/TR/CSP3/ and, for the last two, https://www.w3.org/TR/trusted-types/.
    static func policy(pictures: [String]) -> String {
        [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "font-src 'self'",
            // Blobs are pictures that somebody is about to upload.
            "img-src 'self' blob:" + pictures.map { " " + $0 }.joined(), "base-uri 'none'", "form-action 'self'",
            "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
        ].joined(separator: "; ")
    }

    /// Scheme, host and port of a URL; nil when it has none that a policy could name.
    static func origin(of url: String) -> String? {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme, scheme == "http" || scheme == "https",
            let host = parts.percentEncodedHost, !host.isEmpty,
            host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".-:[]".contains($0)) })
        else { return nil }
        return "\(scheme)://\(host)" + (parts.port.map { ":\($0)" } ?? "")
    }
}
