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
struct StorefrontController: Sendable {
    let services: ServiceClient
    let configuration: GatewayConfiguration
    private let kept: KeptValues
    private let gate = PageGate()
    private let refusals = RefusalPages()

    init(services: ServiceClient, configuration: GatewayConfiguration) {
        self.services = services
        self.configuration = configuration
        kept = KeptValues(masterKey: configuration.masterKey)
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
        /// What an earlier page kept for this one.
        var kept: [String: String] = [:]
        var form = StorefrontForm()
        var results: [ShopResult] = []
    }

    private static let stepsMax = 8
    private static let asksMax = 40
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
        if let refusal = router.admission.refusal(byAddress: request, nil) { return await refused(refusal, request) }
        guard request.method == .get || !isForeign(request) else {
            let error = ParseError(.operationForbidden, "Another site's page sent this form.")
            return await refused(ParseResponse(status: 403, error.body), request)
        }
        if let response = await gate.run(for: request.network, { await self.response(to: request, router) }) {
            return response
        }
        let error = ParseError.tooManyRequests("Too many pages at once.", retryAfterSeconds: 1)
        return await refused(ParseResponse(error), request)
    }

    private func response(to request: ParseRequest, _ router: ParseRouter) async -> ParseResponse {
        var visit = Visit(principal: .stranger(request.network))
        do throws(ParseError) {
            visit = try await begin(request, router)
            if request.method == .post { visit.form = try StorefrontForm(request) }
            return try await page(request, &visit, router)
        } catch {
            var response = await refused(ParseResponse(error), request)
            // A step before the failed one may have begun a session, which holds the shopper's bag.
            setSession(visit, ends: false, in: &response)
            return response
        }
    }

    /// The page that says why a request was refused.
    func refused(_ refusal: ParseResponse, _ request: ParseRequest) async -> ParseResponse {
        let languages = request.headers[.acceptLanguage] ?? ""
        guard let html = await refusals.html(refusal.status, languages, for: request, from: services) else {
            return .unavailablePage
        }
        var response = ParseResponse(status: refusal.status, html: html)
        response.retryAfterSeconds = refusal.retryAfterSeconds
        response.headers.append(contentsOf: headers)
        response.headers[.cacheControl] = "no-store"
        return response
    }

    // MARK: - Steps

    private func page(
        _ request: ParseRequest, _ visit: inout Visit, _ router: ParseRouter
    ) async throws(ParseError) -> ParseResponse {
        var message = try message(request, visit)
        for _ in 0..<Self.stepsMax {
            message.results = visit.results
            let reply = try await services.read(
                WebCalls.shop, message, for: .stranger(request.network), in: request.call)
            switch try reply.message.outcome {
            case .page(let page)?: return try response(page, visit, request)
            case .asks(let asks)?:
                guard visit.results.count + asks.asks.count <= Self.asksMax else { throw .internalError }
                for ask in asks.asks { try await run(ask, &visit, request, router) }
            case nil: throw .internalError
            }
        }
        throw .internalError
    }

    private func message(_ request: ParseRequest, _ visit: Visit) throws(ParseError) -> ShopRequest {
        let query = try ParseRequest.pairs(Substring(request.query ?? "").utf8)
        return ShopRequest.with {
            $0.method = request.method.rawValue
            $0.path = request.path.map(String.init)
            $0.query = query
            $0.form = visit.form.fields
            $0.fileType = visit.form.fileType
            $0.languages = String((request.headers[.acceptLanguage] ?? "").prefix(200))
            $0.userID = visit.principal.userID
            $0.guest = visit.principal.anonymous
            $0.url = WebOrigin.of(configuration.publicURL) ?? ""
            $0.kept = visit.kept
        }
    }

    /// Runs a request that `web` asked for, and keeps its result.
    private func run(
        _ ask: ShopAsk, _ visit: inout Visit, _ page: ParseRequest, _ router: ParseRouter
    ) async throws(ParseError) {
        guard let method = ParseRequest.Method(rawValue: ask.method) else { throw .internalError }
        if ask.path == Self.webSignInPath { return try await runWebSignIn(ask, &visit, page) }
        var request = ParseRequest(
            method: method, path: router.mount.components + (try ParseRequest.path(ask.path)), call: page.call,
            clientAddress: page.clientAddress)
        request.isInBatch = true
        request.credentials.applicationId = configuration.applicationId
        request.credentials.sessionToken = visit.token
        if method == .get {
            request.query = ask.query.isEmpty ? nil : ask.query
        } else if ask.sendsFile {
            // A file is no part of a batch.
            request.isInBatch = false
            request.body = PhotoMetadata.removed(from: visit.form.file) ?? []
            request.headers[.contentType] = visit.form.fileType
        } else {
            guard case .object(let members)? = try? JSON(parsing: ask.body) else { throw .internalError }
            request.tunnelled = members
        }
        let answer: ParseResponse
        if let refusal = router.refusal(inBatch: request, visit.principal) {
            answer = refusal
        } else {
            answer = await router.answer(inBatch: request, visit.principal)
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

    /// Not a path of the protocol: only the storefront may ask it.
    private static let webSignInPath = "webSignIn"

    /// Asks `users` about a log-in at an identity provider.
    private func runWebSignIn(_ ask: ShopAsk, _ visit: inout Visit, _ page: ParseRequest) async throws(ParseError) {
        var result = ShopResult()
        do throws(ParseError) {
            let reply = try await services.write(
                UsersCalls.webSignIn, AccountRequest(), documents: [Array(ask.body)], for: visit.principal,
                in: page.call)
            result.status = 200
            result.body = Data(try reply.document)
        } catch {
            let response = ParseResponse(error)
            result.status = UInt32(clamping: response.status)
            result.body = Data(response.body)
        }
        visit.results.append(result)
    }

    // MARK: - The session

    /// The visit of the browser's session. Without a session, or after its end, the shopper is nobody.
    private func begin(_ request: ParseRequest, _ router: ParseRouter) async throws(ParseError) -> Visit {
        let stranger = Principal.stranger(request.network)
        var visit = Visit(principal: stranger)
        if let sealed = Self.cookie(keptName, in: request.headers) {
            visit.kept = kept.opened(sealed, for: request.path)
        }
        guard let token = Self.cookie(cookieName, in: request.headers) else { return visit }
        var credentials = Credentials()
        credentials.sessionToken = token
        do throws(ParseError) {
            visit.principal = try await router.principals.signIn(stranger, credentials, in: request.call)
            visit.token = token
        } catch {
            guard error.code == .invalidSessionToken else { throw error }
            visit.hasEnded = true
        }
        return visit
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

    private var keptName: String { cookieName + "-kept" }

    private func set(_ name: String, to value: String, seconds: Int, in response: inout ParseResponse) {
        let cookie =
            "\(name)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
        response.headers.append(HTTPField(name: .setCookie, value: cookie))
    }

    /// - Parameter ends: whether the page ends the session.
    private func setSession(_ visit: Visit, ends: Bool, in response: inout ParseResponse) {
        if visit.hasBegun, let token = visit.token {
            set(cookieName, to: token, seconds: Self.cookieSeconds, in: &response)
        } else if visit.hasEnded || ends {
            set(cookieName, to: "", seconds: 0, in: &response)
        }
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
        return !FormOrigin.isOwn(origin, host: request.host, shop: WebOrigin.of(configuration.publicURL))
    }

    // MARK: - The response

    private func response(
        _ page: ShopPage, _ visit: Visit, _ request: ParseRequest
    ) throws(ParseError) -> ParseResponse {
        var response = ParseResponse(status: Int(page.status), html: page.html)
        if !page.location.isEmpty { response.headers[.location] = Self.location(page) }
        if !page.contentType.isEmpty { response.headers[.contentType] = page.contentType }
        response.headers.append(contentsOf: headers)
        // A page with what another one kept is this shopper's.
        let isPersonal = page.personal || !page.location.isEmpty || !page.kept.isEmpty || !visit.kept.isEmpty
        response.headers[.cacheControl] = isPersonal ? "no-store" : "no-cache"
        setSession(visit, ends: page.endsSession, in: &response)
        if let sealed = kept.sealed(page.kept, for: try Self.nextPath(page, request)) {
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

    /// The only policy for trusted types, `worker`, names the worker of `offline.js`.
    private var headers: HTTPFields {
        let pictures = WebOrigin.of(configuration.publicURL).map { " " + $0 } ?? ""
        return [
            headerName("Content-Security-Policy"):
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; "
                + "manifest-src 'self'; img-src 'self'\(pictures); base-uri 'none'; form-action 'self'; "
                + "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types worker",
            headerName("Referrer-Policy"): "strict-origin-when-cross-origin",
            headerName("X-Frame-Options"): "DENY",
            headerName("X-Content-Type-Options"): "nosniff",
            .vary: "Accept-Language",
        ]
    }
}
