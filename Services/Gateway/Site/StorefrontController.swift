import Foundation
import HTTPTypes
import MessageBus
import Messages
import ParseProtocol
import ProcessKit

/// The storefront: pages for shoppers at `/`, `/products/…`, `/bag` and so on, beside the mount.
///
/// `web` decides which data a page needs, and renders it. The gateway runs the requests that `web` asks for with the
/// shopper's rights, limits and quotas, like the requests of a batch. The token of the shopper's session is in a cookie
/// that scripts cannot read and that counts on these paths alone; `web` never gets it.
///
/// Pages for visitors without a session are kept in the read cache (`ReadCache.keep`).
///
/// A class, so that a request for another path copies nothing of it.
final class StorefrontController: Sendable {
    private let services: ServiceClient
    private let configuration: GatewayConfiguration
    /// Nil when caching is off.
    private let cache: ReadCache?
    private let headers: HTTPFields
    /// The same, encoded.
    private let heads: PageHeads

    init(services: ServiceClient, configuration: GatewayConfiguration, cache: ReadCache?) {
        self.services = services
        self.configuration = configuration
        self.cache = cache
        headers = Self.headers(configuration)
        heads = ResponseWriter.pageHeads(headers, configuration.admission.origins)
    }

    /// The first components of the storefront's paths, besides `/`.
    static let folders: Set<Substring> = [
        "account", "badge", "bag", "brands", "checkout", "favorites", "log-in", "log-out", "manifest.webmanifest",
        "offline", "orders", "pages", "products", "promotions", "robots.txt", "search", "sign-up", "sitemap.xml",
        "sitemaps", "stores",
    ]

    /// A page of a shopper's visit: the session and what was asked so far.
    private struct Visit {
        var principal: Principal
        var token: String?
        /// The browser's session has ended.
        var hasEnded = false
        /// A new session began.
        var hasBegun = false
        var results: [ShopResult] = []
        /// The reads that the page is made from; nil for a page that is not kept.
        var reads: [ReadCache.PageRead]?
    }

    /// The place of a page among the kept ones, and what `web` gets of its request.
    private struct Place {
        let address: PageAddress
        /// Nil for a page that is not kept.
        let key: [UInt8]?
    }

    private static let stepsMax = 8
    private static let asksMax = 40
    private static let formBytesMax = 32 << 10
    /// Browsers limit a cookie's age to 400 days; the session's own end decides.
    private static let cookieSeconds = 400 * 86_400

    /// Whether a request is for a page of the storefront.
    static func isMeant(by request: ParseRequest) -> Bool {
        guard request.method == .get || request.method == .post else { return false }
        guard let first = request.path.first else {
            // Clients that probe `/` without accepting HTML get the router's response.
            return request.method == .get && request.headers[.accept]?.contains("text/html") == true
        }
        return folders.contains(first)
    }

    func answer(_ request: ParseRequest, _ router: ParseRouter) async -> ParseResponse {
        if let refusal = router.admission.refusal(byAddress: request, nil) { return refusal }
        guard request.method == .get || !isForeign(request) else {
            return ParseResponse(ParseError(.operationForbidden, "Another site's page sent this form."))
        }
        if !request.hasLookedForPage, let page = kept(request, router) { return page }
        do throws(ParseError) {
            // Before the first step: a page of processes that leave meanwhile is kept for nobody.
            let place = try place(of: request)
            var visit = try await begin(request, router)
            if place?.key != nil, visit.token == nil, !visit.hasEnded { visit.reads = [] }
            return try await page(request, place, &visit, router)
        } catch {
            guard error.code == .serviceUnavailable || error.code == .timeout else { return ParseResponse(error) }
            return .unavailablePage
        }
    }

    // MARK: - Kept pages

    /// The kept page, which is for visitors without a session; nil when it has to be rendered.
    func kept(_ request: ParseRequest, _ router: ParseRouter) -> ParseResponse? {
        // While the table of hooks is unknown, every class may have a trigger.
        guard let cache, let hooks = router.hooks.registry.known, let key = try? place(of: request)?.key,
            Self.cookie(cookieName, in: request.headers) == nil, let page = cache.page(key, hooks)
        else { return nil }
        return response(page)
    }

    /// Nil for a page that is not of a kind that is kept.
    private func place(of request: ParseRequest) throws(ParseError) -> Place? {
        guard request.method == .get,
            let address = try PageAddress(
                path: request.path, query: request.query, languages: request.headers[.acceptLanguage])
        else { return nil }
        return Place(address: address, key: cache.flatMap { address.key($0.edition) })
    }

    /// What a request of a page reads; nil when that cannot be observed. Call it before the request.
    private func read(of ask: ShopAsk, _ path: [Substring]) -> ReadCache.PageRead? {
        guard ask.method == "GET" else { return nil }
        if path == ["config"] { return cache?.pageRead(ChangeSubject.configClass, nil) }
        guard path.first == "classes", path.count == 2 || path.count == 3 else { return nil }
        return cache?.pageRead(String(path[1]), path.count == 3 ? String(path[2]) : nil)
    }

    // MARK: - Steps

    private func page(
        _ request: ParseRequest, _ place: Place?, _ visit: inout Visit, _ router: ParseRouter
    ) async throws(ParseError) -> ParseResponse {
        var message = try message(request, place?.address, visit.principal)
        for _ in 0..<Self.stepsMax {
            message.results = visit.results
            let reply = try await services.read(
                WebCalls.shop, message, for: .stranger(request.network), in: request.call)
            switch try reply.message.outcome {
            case .page(let page)?: return response(page, place?.key, visit)
            case .asks(let asks)?:
                guard visit.results.count + asks.asks.count <= Self.asksMax else { throw .internalError }
                for ask in asks.asks { try await run(ask, &visit, request, router) }
            case nil: throw .internalError
            }
        }
        throw .internalError
    }

    private func message(
        _ request: ParseRequest, _ address: PageAddress?, _ shopper: Principal
    ) throws(ParseError) -> ShopRequest {
        var query = address?.query ?? [:]
        if address == nil { query = try ParseRequest.pairs(Substring(request.query ?? "").utf8) }
        let form = request.method == .post ? try Self.form(request) : [:]
        return ShopRequest.with {
            $0.method = request.method.rawValue
            $0.path = request.path.map(String.init)
            $0.query = query
            $0.form = form
            $0.languages = address?.languages ?? String((request.headers[.acceptLanguage] ?? "").prefix(200))
            $0.userID = shopper.userID
            $0.guest = shopper.anonymous
            $0.url = WebOrigin.of(configuration.publicURL) ?? ""
        }
    }

    private static func form(_ request: ParseRequest) throws(ParseError) -> [String: String] {
        let form = try request.pageForm(bytesMax: formBytesMax)
        for value in form.values { try value.checkMarks() }
        return form
    }

    /// Runs a request that `web` asked for, and keeps its result.
    private func run(
        _ ask: ShopAsk, _ visit: inout Visit, _ page: ParseRequest, _ router: ParseRouter
    ) async throws(ParseError) {
        guard let method = ParseRequest.Method(rawValue: ask.method) else { throw .internalError }
        let path = try ParseRequest.path(ask.path)
        var request = ParseRequest(
            method: method, path: router.mount.components + path, call: page.call, clientAddress: page.clientAddress)
        // The read cache answers single requests.
        request.isInBatch = method != .get
        request.credentials.applicationId = configuration.applicationId
        request.credentials.sessionToken = visit.token
        if method == .get {
            request.query = ask.query.isEmpty ? nil : ask.query
        } else {
            guard case .object(let members)? = try? JSON(parsing: ask.body) else { throw .internalError }
            request.tunnelled = members
        }
        let read = visit.reads == nil ? nil : read(of: ask, path)
        let answer: ParseResponse
        if let refusal = router.refusal(inBatch: request, visit.principal) {
            answer = refusal
        } else {
            answer = await router.answer(inBatch: request, visit.principal)
        }
        if let read, answer.isAlike, answer.status == 200 {
            visit.reads?.append(read)
        } else {
            visit.reads = nil
        }
        var body =
            answer.final.map { Array($0.buffer.readableBytesView) } ?? configuration.fileLinks.linked(answer.body)
        if ask.beginsSession, (200..<300).contains(answer.status) {
            body = try await beginSession(body, &visit, request, router)
        } else if Self.tokenPaths.contains(ask.path) {
            body = Self.withoutToken(body).rest
        }
        visit.results.append(
            .with {
                $0.status = UInt32(clamping: answer.status)
                $0.body = Data(body)
            })
    }

    // MARK: - The session

    /// The visit of the browser's session. Without a session, or after its end, the shopper is nobody.
    private func begin(_ request: ParseRequest, _ router: ParseRouter) async throws(ParseError) -> Visit {
        let stranger = Principal.stranger(request.network)
        guard let token = Self.cookie(cookieName, in: request.headers) else { return Visit(principal: stranger) }
        var credentials = Credentials()
        credentials.sessionToken = token
        do throws(ParseError) {
            let principal = try await router.principals.signIn(stranger, credentials, in: request.call)
            return Visit(principal: principal, token: token)
        } catch {
            guard error.code == .invalidSessionToken else { throw error }
            return Visit(principal: stranger, hasEnded: true)
        }
    }

    /// The paths whose responses repeat the session's token.
    private static let tokenPaths: Set<String> = ["users/me", "sessions/me"]

    /// Takes the session's token out of a response.
    static func withoutToken(_ body: [UInt8]) -> (token: String?, rest: [UInt8]) {
        guard case .object(var members)? = try? JSON(parsing: body),
            let token = members.removeValue(forKey: "sessionToken")?.stringValue
        else { return (nil, body) }
        return (token, JSON.object(members).serialized)
    }

    /// Takes the session's token out of a response, and makes it the browser's.
    /// - Returns: the rest of the response.
    private func beginSession(
        _ body: [UInt8], _ visit: inout Visit, _ request: ParseRequest, _ router: ParseRouter
    ) async throws(ParseError) -> [UInt8] {
        let parts = Self.withoutToken(body)
        guard let token = parts.token else { return body }
        var credentials = Credentials()
        credentials.sessionToken = token
        visit.principal = try await router.principals.signIn(
            .stranger(request.network), credentials, in: request.call)
        visit.token = token
        visit.hasBegun = true
        return parts.rest
    }

    /// Over HTTPS, a name with which browsers refuse a cookie that another host or path set.
    private var cookieName: String { isSecure ? "__Host-satchel" : "satchel" }
    private var isSecure: Bool { configuration.publicURL.hasPrefix("https:") }

    private func cookie(_ token: String, seconds: Int) -> String {
        "\(cookieName)=\(token); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
    }

    /// The value of a cookie that occurs once.
    static func cookie(_ name: String, in headers: HTTPFields) -> String? {
        var found: String?
        for field in headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let pair = pair.drop { $0 == " " }
                guard pair.hasPrefix(name + "=") else { continue }
                guard found == nil else { return nil }
                found = String(pair.dropFirst(name.count + 1))
            }
        }
        return found?.isEmpty == false ? found : nil
    }

    /// Whether a page of another site sent a form. Browsers say so in one of two headers, and other clients in none.
    private func isForeign(_ request: ParseRequest) -> Bool {
        if let site = request.headers[headerName("Sec-Fetch-Site")] { return site != "same-origin" && site != "none" }
        guard let origin = request.headers[.origin] else { return false }
        return origin != WebOrigin.of(configuration.publicURL)
    }

    // MARK: - The response

    /// A page with a tag, for which a browser asks again each time.
    private func response(_ body: FinalBody) -> ParseResponse {
        var response = ParseResponse(body)
        response.headers = headers
        response.page = heads
        return response
    }

    /// - Parameter key: of the page among the kept ones.
    private func response(_ page: ShopPage, _ key: [UInt8]?, _ visit: Visit) -> ParseResponse {
        let isUsual =
            page.status == 200 && page.location.isEmpty && page.contentType.isEmpty && !page.runsStripe
        if isUsual, !page.personal, !visit.hasBegun, !visit.hasEnded, !page.endsSession,
            page.html.utf8.count <= CapacitySettings.smallBytes
        {
            let body = FinalBody(Array(page.html.utf8), isCached: visit.token == nil)
            if let key, let cache, let reads = visit.reads, !reads.isEmpty { cache.keep(body, key, madeFrom: reads) }
            return response(body)
        }
        var response = ParseResponse(status: Int(page.status), html: page.html)
        response.headers = page.runsStripe ? Self.headers(configuration, runsStripe: true) : headers
        // A path of this host, whatever a form or a query named.
        if !page.location.isEmpty {
            response.headers[.location] =
                page.location.hasPrefix("/") && !page.location.hasPrefix("//") ? page.location : "/"
        }
        if !page.contentType.isEmpty { response.headers[.contentType] = page.contentType }
        if page.personal || !page.location.isEmpty { response.headers[.cacheControl] = "no-store" }
        if visit.hasBegun, let token = visit.token {
            response.headers[.setCookie] = cookie(token, seconds: Self.cookieSeconds)
        } else if visit.hasEnded || page.endsSession {
            response.headers[.setCookie] = cookie("", seconds: 0)
        }
        return response
    }

    /// The only policy for trusted types, `worker`, names the worker of `offline.js`.
    /// - Parameter runsStripe: the page also runs Stripe's script (https://docs.stripe.com/security/guide), which loads
    ///   parts of itself without trusted types.
    private static func headers(_ configuration: GatewayConfiguration, runsStripe: Bool = false) -> HTTPFields {
        let pictures = WebOrigin.of(configuration.publicURL).map { " " + $0 } ?? ""
        let (script, picture, frames, connect, types) =
            runsStripe
            ? (
                " https://js.stripe.com https://*.js.stripe.com", " https://*.stripe.com",
                "frame-src https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com; ",
                " https://api.stripe.com", ""
            ) : ("", "", "", "", "; require-trusted-types-for 'script'; trusted-types worker")
        let policy: String =
            "default-src 'none'; script-src 'self'\(script); style-src 'self'; connect-src 'self'\(connect); "
            + "font-src 'self'; manifest-src 'self'; img-src 'self'\(pictures)\(picture); \(frames)"
            + "base-uri 'none'; form-action 'self'; frame-ancestors 'none'\(types)"
        return [
            .contentType: "text/html; charset=utf-8",
            headerName("Content-Security-Policy"): policy,
            headerName("Referrer-Policy"): "strict-origin-when-cross-origin",
            headerName("X-Frame-Options"): "DENY",
            headerName("X-Content-Type-Options"): "nosniff",
            .cacheControl: "private, no-cache",
            .vary: "Accept-Language, Accept-Encoding, Cookie",
        ]
    }
}
