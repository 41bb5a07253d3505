import HTTPTypes
import Messages
import ParseProtocol
import ProcessKit

/// The responses with pages.
extension StorefrontController {
    /// The first component of the path of a theme's styles, which names their content.
    private static let styles: Substring = "theme"
    private static let lasting = "public, max-age=31536000, immutable"

    /// A page with a tag, for which a browser asks again each time.
    func response(_ body: FinalBody) -> ParseResponse {
        var response = ParseResponse(body)
        response.headers = headers
        response.page = heads
        return response
    }

    /// - Parameter key: of the page in the cache; nil for a page that is not cached.
    func response(
        _ page: ShopPage, _ key: [UInt8]?, _ visit: Visit, _ request: ParseRequest
    ) throws(ParseError) -> ParseResponse {
        // A page with what another one kept is this shopper's.
        let isPersonal = page.personal || !page.location.isEmpty || !page.kept.isEmpty || !visit.kept.isEmpty
        let isUsual =
            page.status == 200 && page.contentType.isEmpty && !page.runsStripe && page.pictureOrigin.isEmpty
            && !isPersonal
        if isUsual, !visit.hasBegun, !visit.hasEnded, !page.endsSession,
            page.html.utf8.count <= CapacitySettings.smallBytes
        {
            let body = FinalBody(Array(page.html.utf8), isCached: visit.token == nil)
            if let key, let cache, let reads = visit.reads, !reads.isEmpty { cache.keep(body, key, madeFrom: reads) }
            return response(body)
        }
        var response = ParseResponse(status: Int(page.status), html: page.html)
        response.headers =
            page.runsStripe || !page.pictureOrigin.isEmpty
            ? Self.headers(configuration, runsStripe: page.runsStripe, pictureOrigin: page.pictureOrigin) : headers
        if !page.location.isEmpty { response.headers[.location] = Self.location(page) }
        if !page.contentType.isEmpty { response.headers[.contentType] = page.contentType }
        if isPersonal {
            response.headers[.cacheControl] = "no-store"
        } else if request.path.first == Self.styles {
            response.headers[.cacheControl] = Self.lasting
        }
        setSession(visit, ends: page.endsSession, in: &response)
        if let sealed = keptValues.sealed(page.kept, for: try Self.nextPath(page, request)) {
            set(keptName, to: sealed, seconds: Int(KeptValues.seconds), in: &response)
        } else if !visit.kept.isEmpty || page.endsSession {
            set(keptName, to: "", seconds: 0, in: &response)
        }
        return response
    }

    /// The path of the page that gets what this one keeps. `/log-in/google` leads to the provider, which returns to
    /// `/log-in/google/back`.
    private static func nextPath(_ page: ShopPage, _ request: ParseRequest) throws(ParseError) -> [Substring] {
        if page.leaves { return request.path + ["back"] }
        guard !page.location.isEmpty else { return request.path }
        return try ParseRequest.path(String(page.location.prefix { !"?#".contains($0) }))
    }

    /// A path of this host, whatever a form or a query named; or the page of a provider, which `users` has named.
    private static func location(_ page: ShopPage) -> String {
        let location = page.location
        if page.leaves { return location.hasPrefix("https://") || location.hasPrefix("http://") ? location : "/" }
        return location.hasPrefix("/") && !location.hasPrefix("//") && !location.contains("\\") ? location : "/"
    }

    /// The dashboard shows pages in a frame. The only policy for trusted types, `worker`, names the worker of
    /// `offline.js`.
    /// - Parameters:
    ///   - runsStripe: the page also runs Stripe's script (https://docs.stripe.com/security/guide), which loads parts
    ///     of itself without trusted types.
    ///   - pictureOrigin: a further origin of pictures; empty for none.
    static func headers(
        _ configuration: GatewayConfiguration, runsStripe: Bool = false, pictureOrigin: String = ""
    ) -> HTTPFields {
        let origins = [WebOrigin.of(configuration.publicURL), pictureOrigin.isEmpty ? nil : pictureOrigin]
        let pictures = origins.compactMap(\.self).map { " " + $0 }.joined()
        let (script, picture, frames, connect, types) =
            runsStripe
            ? (
                " https://js.stripe.com https://*.js.stripe.com", " https://*.stripe.com",
                "frame-src https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com; ",
                " https://api.stripe.com", ""
            ) : ("", "", "", "", "; require-trusted-types-for 'script'; trusted-types worker")
        let policy: String =
            "default-src 'none'; script-src 'self'\(script); style-src 'self'; connect-src 'self'\(connect); "
            + "font-src 'self'; manifest-src 'self'; img-src 'self' blob:\(pictures)\(picture); \(frames)"
            + "base-uri 'none'; form-action 'self'; frame-ancestors 'self'\(types)"
        return [
            .contentType: "text/html; charset=utf-8",
            headerName("Content-Security-Policy"): policy,
            headerName("Referrer-Policy"): "strict-origin-when-cross-origin",
            headerName("X-Frame-Options"): "SAMEORIGIN",
            headerName("X-Content-Type-Options"): "nosniff",
            .cacheControl: "private, no-cache",
            .vary: "Accept-Language, Accept-Encoding, Cookie",
        ]
    }
}
