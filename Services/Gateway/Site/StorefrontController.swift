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
/// The read cache stores pages for visitors without a session (`ReadCache.keep`).
///
/// A class, so that a request for another path copies nothing of it.
final class StorefrontController: Sendable {
    let configuration: GatewayConfiguration
    let headers: HTTPFields
    /// The same, encoded.
    let heads: PageHeads
    let keptValues: KeptValues
    /// Nil when caching is off.
    let cache: ReadCache?
    private let services: ServiceClient
    private let gate = NetworkGate(.pages)
    private let refusals = RefusalPages()
    private let look: StorefrontLook
    private let offersLiveProducts: Bool
    /// The shop's own; empty when it is unknown.
    private let origin: String

    init(services: ServiceClient, configuration: GatewayConfiguration, cache: ReadCache?) {
        self.services = services
        self.configuration = configuration
        self.cache = cache
        headers = Self.headers(configuration)
        heads = ResponseWriter.pageHeads(headers, configuration.admission.origins)
        keptValues = KeptValues(masterKey: configuration.masterKey)
        look = StorefrontLook(services: services, links: configuration.fileLinks, cache: cache)
        offersLiveProducts = configuration.offersLiveQueriesToPages && configuration.live.allows("Product")
        origin = WebOrigin.of(configuration.publicURL) ?? ""
    }

    /// The first components of the storefront's paths, besides `/`.
    static let folders: Set<Substring> = [
        "account", "badge", "bag", "brands", "checkout", "favorites", "log-in", "log-out", "manifest.webmanifest",
        "offline", "orders", "pages", "products", "promotions", "robots.txt", "search", "sign-up", "sitemap.xml",
        "sitemaps", "stores", "theme",
    ]
    /// Those of files for programs, which have no look.
    private static let unstyled: Set<Substring> = ["badge", "robots.txt", "sitemap.xml", "sitemaps"]

    /// A page of a shopper's visit: the session and what was asked so far.
    struct Visit {
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
        /// The reads that the page is made from; nil for a page that is not cached.
        var reads: [ReadCache.PageRead]?
    }

    /// The address of a page, of which `web` gets the parts, and its key in the cache.
    struct PageKey {
        let address: PageAddress
        /// Nil for a page that is not cached.
        let bytes: [UInt8]?
    }

    private static let stepsMax = 8
    private static let asksMax = 40

    /// Whether a request is for a page of the storefront.
    static func isMeant(by request: ParseRequest) -> Bool {
        guard request.method == .get || request.method == .post else { return false }
        guard let first = request.path.first else {
            // Clients that probe `/` without accepting HTML get the router's response.
            return request.method == .get && AcceptedTypes.allowHTML(in: request.headers[.accept])
        }
        return folders.contains(first)
    }

    /// The response to a request whose page is not in the cache.
    func answer(_ request: ParseRequest, _ router: ParseRouter, refusal: ParseResponse?) async -> ParseResponse {
        if let refusal { return await refused(refusal, request) }
        guard request.method == .get || !isForeign(request) else {
            let error = ParseError(.operationForbidden, "Another site's page sent this form.")
            return await refused(ParseResponse(status: 403, error.body), request)
        }
        let network = ClientNetwork(request.network)
        if let response = await gate.run(for: network, { await self.response(to: request, router) }) { return response }
        let error = ParseError.tooManyRequests("Too many pages at once.", retryAfterSeconds: 1)
        return await refused(ParseResponse(error), request)
    }

    private func response(to request: ParseRequest, _ router: ParseRouter) async -> ParseResponse {
        var visit = Visit(principal: .of(network: request.network))
        do throws(ParseError) {
            // Before the first step, so that a page of processes that leave meanwhile is not cached.
            let key = try key(of: request)
            visit = try await begin(request, router)
            if key?.bytes != nil, visit.token == nil, !visit.hasEnded, visit.kept.isEmpty { visit.reads = [] }
            if request.method == .post { visit.form = try StorefrontForm(request) }
            return try await page(request, key, &visit, router)
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
        response.headers = headers
        response.headers[.cacheControl] = "no-store"
        return response
    }

    // MARK: - Cached pages

    /// The cached page, which is for visitors without a session; nil when it has to be rendered.
    func cachedPage(for request: ParseRequest, _ router: ParseRouter) -> ParseResponse? {
        // Without a cached table of hooks, every class may have a trigger.
        guard let cache, let hooks = router.hooks.registry.cached, let key = try? key(of: request)?.bytes,
            Self.cookie(cookieName, in: request.headers) == nil, Self.cookie(keptName, in: request.headers) == nil,
            let page = cache.page(key, hooks)
        else { return nil }
        return response(page)
    }

    /// Nil for a page of a kind that is not cached.
    private func key(of request: ParseRequest) throws(ParseError) -> PageKey? {
        guard request.method == .get,
            let address = try PageAddress(
                path: request.path, query: request.query, languages: request.headers[.acceptLanguage])
        else { return nil }
        return PageKey(address: address, bytes: cache.flatMap { address.key($0.edition) })
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
        _ request: ParseRequest, _ key: PageKey?, _ visit: inout Visit, _ router: ParseRouter
    ) async throws(ParseError) -> ParseResponse {
        var message = try message(request, key?.address, visit)
        if request.path.first.map(Self.unstyled.contains) != true { message.theme = await look.theme(request, &visit) }
        for _ in 0..<Self.stepsMax {
            message.results = visit.results
            let reply = try await services.read(
                WebCalls.shop, message, for: .of(network: request.network), in: request.call)
            switch try reply.message.outcome {
            case .page(let page)?: return try response(page, key?.bytes, visit, request)
            case .asks(let asks)?:
                guard visit.results.count + asks.asks.count <= Self.asksMax else { throw .internalError }
                for ask in asks.asks { try await run(ask, &visit, request, router) }
            case nil: throw .internalError
            }
        }
        throw .internalError
    }

    private func message(
        _ request: ParseRequest, _ address: PageAddress?, _ visit: Visit
    ) throws(ParseError) -> ShopRequest {
        var query = address?.query ?? [:]
        if address == nil { query = try ParseRequest.pairs(Substring(request.query ?? "").utf8) }
        return ShopRequest.with {
            $0.method = request.method.rawValue
            $0.path = request.path.map(String.init)
            $0.query = query
            $0.form = visit.form.fields
            $0.fileType = visit.form.fileType
            $0.languages = address?.languages ?? String((request.headers[.acceptLanguage] ?? "").prefix(200))
            $0.userID = visit.principal.userID
            $0.guest = visit.principal.anonymous
            $0.url = origin
            $0.kept = visit.kept
            guard offersLiveProducts else { return }
            $0.livePath = "/" + configuration.mount.joined(separator: "/")
            $0.applicationID = configuration.applicationId
            $0.clientKey = configuration.clientKeys[.javascript] ?? ""
        }
    }

    /// Runs a request that `web` asked for, and keeps its result.
    private func run(
        _ ask: ShopAsk, _ visit: inout Visit, _ page: ParseRequest, _ router: ParseRouter
    ) async throws(ParseError) {
        guard let method = ParseRequest.Method(rawValue: ask.method) else { throw .internalError }
        if ask.path == Self.webSignInPath { return try await runWebSignIn(ask, &visit, page) }
        let path = try ParseRequest.path(ask.path)
        var request = ParseRequest(
            method: method, path: router.mount.components + path, call: page.call, clientAddress: page.clientAddress)
        // The read cache only answers single requests.
        request.isInBatch = method != .get
        request.credentials.applicationId = configuration.applicationId
        request.credentials.sessionToken = visit.token
        if method == .get {
            request.query = ask.query.isEmpty ? nil : ask.query
        } else if ask.sendsFile {
            // A file is no part of a batch.
            request.isInBatch = false
            request.isAccountPhoto = true
            request.body = PhotoMetadata.removed(from: visit.form.file) ?? []
            request.headers[.contentType] = visit.form.fileType
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
        visit.reads = nil
        visit.results.append(result)
    }
}

extension NetworkTurns.Limits {
    /// Pages of the storefront, which take time of `web` and of the services that it asks.
    package static let pages = NetworkTurns.Limits(
        places: 32, placesPerNetwork: 24, waiting: 1024, waitingPerNetwork: 256, few: 8)
}
