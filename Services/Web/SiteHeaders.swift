import Messages

/// The headers of pages for browsers and of their files.
///
/// A page runs only script files from this origin, creates no markup from texts, connects to no other origin, cannot be
/// framed and submits no form elsewhere. A shopper's text therefore never runs in it, even if one of the page's modules
/// has an error.
enum SiteHeaders {
    /// For a page: stored, but revalidated each time, so that it names the files of this release.
    /// - Parameter pictures: further origins of pictures.
    static func page(pictures: [String]) -> [WebHeader] {
        headers([
            "Content-Type": "text/html; charset=utf-8",
            "Cache-Control": "no-cache",
            "Content-Security-Policy": policy(pictures: pictures),
            "Cross-Origin-Opener-Policy": "same-origin",
            "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
            "X-Frame-Options": "DENY",
        ])
    }

    /// For a file whose path names its content: it never changes.
    static func file(contentType: String) -> [WebHeader] {
        headers([
            "Content-Type": contentType,
            "Cache-Control": "public, max-age=31536000, immutable",
            // Applies when a picture or a text is opened directly.
            "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
        ])
    }

    /// For an element that pages of any site load, under a path with its version.
    static func element(contentType: String) -> [WebHeader] {
        headers([
            "Content-Type": contentType,
            // A page that was open during an upgrade mixes modules for a day at most.
            "Cache-Control": "public, max-age=86400",
            "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
            "Cross-Origin-Resource-Policy": "cross-origin",
        ])
    }

    /// For the storefront's worker, which works for all paths and fetches the offline page.
    static func worker(contentType: String) -> [WebHeader] {
        headers([
            "Content-Type": contentType,
            "Cache-Control": "public, max-age=31536000, immutable",
            "Content-Security-Policy": "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
            "Service-Worker-Allowed": "/",
        ])
    }

    private static let common: KeyValuePairs = [
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        // Varies by origin as well, because the response depends on it when only some origins are allowed.
        "Vary": "Accept-Encoding, Origin",
    ]

    private static func headers(_ own: KeyValuePairs<String, String>) -> [WebHeader] {
        (common.filter { entry in !own.contains { $0.key == entry.key } } + Array(own)).map { name, value in
            WebHeader.with {
                $0.name = name
                $0.value = value
            }
        }
    }

    /// https://www.w3.org/TR/CSP3/ and, for the last two, https://www.w3.org/TR/trusted-types/.
    static func policy(pictures: [String]) -> String {
        [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "font-src 'self'",
            // Blobs are pictures selected for upload.
            "img-src 'self' blob:" + pictures.map { " " + $0 }.joined(), "base-uri 'none'", "form-action 'self'",
            // Mails, which have a stricter policy of their own.
            "frame-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
        ].joined(separator: "; ")
    }
}
