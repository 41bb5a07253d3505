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

    /// The first components of the storefront's paths, besides `/`.
    static let folders: Set<Substring> = [
        "account", "badge", "bag", "brands", "checkout", "favorites", "log-in", "log-out", "manifest.webmanifest",
        "offline", "orders", "pages", "products", "promotions", "robots.txt", "search", "sign-up", "sitemap.xml",
        "sitemaps", "stores", "theme",
    ]
    /// Those of programs' files, which have no look.
    private static let plain: Set<Substring> = ["badge", "robots.txt", "sitemap.xml", "sitemaps"]

    /// A page of a shopper's visit: the session and what was asked so far.
    private struct Visit {
        var principal: Principal
        var token: String?
        /// The browser's session has ended.
        var hasEnded = false
        /// A new session began.
        var hasBegun = false
        var results: [ShopResult] = []
    }

    /// The first component of the path of a theme's styles, which names their content.
    private static let styles: Substring = "theme"
    private static let lasting = "public, max-age=31536000, immutable"
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
        do throws(ParseError) {
            var visit = try await begin(request, router)
            return try await page(request, &visit, router)
        } catch {
            guard error.code == .serviceUnavailable || error.code == .timeout else { return ParseResponse(error) }
            return .unavailablePage
        }
    }

    // MARK: - Steps

    private func page(
        _ request: ParseRequest, _ visit: inout Visit, _ router: ParseRouter
    ) async throws(ParseError) -> ParseResponse {
        var message = try message(request, visit.principal)
        message.theme = await theme(request)
        for _ in 0..<Self.stepsMax {
            message.results = visit.results
            let reply = try await services.read(
                WebCalls.shop, message, for: .stranger(request.network), in: request.call)
            switch try reply.message.outcome {
            case .page(let page)?: return response(page, visit, isLasting: request.path.first == Self.styles)
            case .asks(let asks)?:
                guard visit.results.count + asks.asks.count <= Self.asksMax else { throw .internalError }
                for ask in asks.asks { try await run(ask, &visit, request, router) }
            case nil: throw .internalError
            }
        }
        throw .internalError
    }

    private func message(_ request: ParseRequest, _ shopper: Principal) throws(ParseError) -> ShopRequest {
        let query = try ParseRequest.pairs(Substring(request.query ?? "").utf8)
        let form = request.method == .post ? try Self.form(request) : [:]
        return ShopRequest.with {
            $0.method = request.method.rawValue
            $0.path = request.path.map(String.init)
            $0.query = query
            $0.form = form
            $0.languages = String((request.headers[.acceptLanguage] ?? "").prefix(200))
            $0.userID = shopper.userID
            $0.guest = shopper.anonymous
            $0.url = WebOrigin.of(configuration.publicURL) ?? ""
        }
    }

    /// The look that operators have chosen in Config; the standard one when Config cannot be read.
    private func theme(_ request: ParseRequest) async -> Data {
        if let first = request.path.first, Self.plain.contains(first) { return Data() }
        do throws(ParseError) {
            let reply = try await services.read(
                CatalogCalls.config, ConfigRequest(), for: .stranger(request.network), in: request.call)
            let config = try? JSON(parsing: try reply.document)
            guard let theme = config?["params"]?[WebCalls.themeParameter] else { return Data() }
            return Data(configuration.fileLinks.linked(Self.withoutURLs(theme).serialized))
        } catch {
            return Data()
        }
    }

    /// Config keeps a File as it was sent, with a URL that could point anywhere.
    private static func withoutURLs(_ value: JSON) -> JSON {
        switch value {
        case .object(var members):
            if members["__type"] == "File" { members["url"] = nil }
            return .object(members.mapValues(withoutURLs))
        case .array(let elements): return .array(elements.map(withoutURLs))
        default: return value
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
        var request = ParseRequest(
            method: method, path: router.mount.components + (try ParseRequest.path(ask.path)), call: page.call,
            clientAddress: page.clientAddress)
        request.isInBatch = true
        request.credentials.applicationId = configuration.applicationId
        request.credentials.sessionToken = visit.token
        if method == .get {
            request.query = ask.query.isEmpty ? nil : ask.query
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

    private func response(_ page: ShopPage, _ visit: Visit, isLasting: Bool) -> ParseResponse {
        var response = ParseResponse(status: Int(page.status), html: page.html)
        // A path of this host, whatever a form or a query named.
        if !page.location.isEmpty {
            response.headers[.location] =
                page.location.hasPrefix("/") && !page.location.hasPrefix("//") ? page.location : "/"
        }
        if !page.contentType.isEmpty { response.headers[.contentType] = page.contentType }
        response.headers.append(contentsOf: headers)
        response.headers[.cacheControl] =
            page.personal || !page.location.isEmpty ? "no-store" : isLasting ? Self.lasting : "no-cache"
        if visit.hasBegun, let token = visit.token {
            response.headers[.setCookie] = cookie(token, seconds: Self.cookieSeconds)
        } else if visit.hasEnded || page.endsSession {
            response.headers[.setCookie] = cookie("", seconds: 0)
        }
        return response
    }

    /// The dashboard shows pages in a frame. The only policy for trusted types, `worker`, names the worker of
    /// `offline.js`.
    private var headers: HTTPFields {
        let pictures = WebOrigin.of(configuration.publicURL).map { " " + $0 } ?? ""
        return [
            headerName("Content-Security-Policy"):
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; "
                + "manifest-src 'self'; img-src 'self' blob:\(pictures); base-uri 'none'; form-action 'self'; "
                + "frame-ancestors 'self'; require-trusted-types-for 'script'; trusted-types worker",
            headerName("Referrer-Policy"): "strict-origin-when-cross-origin",
            headerName("X-Frame-Options"): "SAMEORIGIN",
            headerName("X-Content-Type-Options"): "nosniff",
            .vary: "Accept-Language",
        ]
    }
}
