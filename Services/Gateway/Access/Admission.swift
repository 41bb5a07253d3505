import HTTPTypes
import Messages
import ParseProtocol

/// The checks between a client whose keys are right and the route it asks for: rate limits, the list of routes that
/// clients may use, the read-only key, and request ids that were seen before. The requests of a batch pass it one by
/// one.
struct Admission: Sendable {
    let settings: AdmissionSettings
    let limiter: RateLimiter
    let services: ServiceClient
    private let onceKeys: OnceKeys

    init(settings: AdmissionSettings, masterKey: String, services: ServiceClient) {
        self.settings = settings
        self.services = services
        onceKeys = OnceKeys(masterKey: masterKey)
        limiter = RateLimiter(settings.rateRules)
    }

    // MARK: May it?

    /// Whether a client's requests pass whatever they are: nothing is counted, and every route is open.
    var isOpen: Bool { limiter.isOff && settings.clientRoutes == nil }

    /// Counts a request by where it comes from, before anything is looked up for it.
    /// - Parameter principal: nil when the keys are wrong.
    func refusal(byAddress request: ParseRequest, _ principal: Principal?) -> ParseResponse? {
        if limiter.isOff { return nil }
        return limiter.refusal(
            .address, request.method.rawValue, RoutePattern.route(request.path),
            .init(address: request.clientAddress), isMaster: principal?.isPrivileged ?? false
        ).map(Self.tooMany)
    }

    /// The refusal of a request that the client may not make, whatever the route would say; nil when it may.
    /// - Parameter request: with a path without the mount.
    func refusal(to request: ParseRequest, _ principal: Principal) -> ParseResponse? {
        if principal.readOnly, !ReadOnlyKey.admits(request.method, request.path) {
            return ParseResponse(.readOnlyKey)
        }
        if settings.clientRoutes == nil, limiter.isOff { return nil }
        let route = RoutePattern.route(request.path)
        if let routes = settings.clientRoutes, !principal.isPrivileged, !routes.contains(where: { $0.matches(route) }) {
            return ParseResponse(ParseError(.operationForbidden, "This route is not open to clients."))
        }
        var keys = RateLimiter.Keys(address: request.clientAddress)
        // Whoever signs in is not yet who he says: a session that he has does not give him a count of its own.
        if !ParseRouter.signsIn(request) {
            keys.userId = principal.userID
            keys.sessionToken = principal.sessionToken
        }
        return limiter.refusal(.person, request.method.rawValue, route, keys, isMaster: principal.isPrivileged)
            .map(Self.tooMany)
    }

    /// A request of a batch, which counts like any other.
    func refusal(inBatch request: ParseRequest, _ principal: Principal) -> ParseResponse? {
        refusal(byAddress: request, principal) ?? refusal(to: request, principal)
    }

    private static func tooMany(_ seconds: Int) -> ParseResponse {
        var answer = ParseResponse(ParseError(.connectionFailed, "Too many requests. Try again later."))
        answer.retryAfterSeconds = seconds
        return answer
    }

    /// The principal with the rights it has for a path. The maintenance key stands in for the master key where objects
    /// are concerned, and nowhere else.
    func rights(_ principal: Principal, for path: [Substring]) -> Principal {
        guard principal.maintenance, !principal.master, let first = path.first, Self.objectRoutes.contains(first) else {
            return principal
        }
        var raised = principal
        raised.master = true
        return raised
    }

    private static let objectRoutes: Set<Substring> = ["classes", "users", "roles", "sessions", "installations"]

    // MARK: Was it here before?

    /// The key under which a request must run only once, or nil when it may run as often as it comes.
    /// - Throws: `.invalidJSON` (107) for an id that is too long.
    func onceId(of request: ParseRequest) throws(ParseError) -> String? {
        guard !settings.onceRoutes.isEmpty, let id = request.headers[Self.requestIdName], !id.isEmpty,
            isOnce(request.method, request.path) || holdsOnce(request)
        else { return nil }
        guard id.utf8.count <= Self.requestIdBytesMax else {
            throw ParseError(.invalidJSON, "X-Parse-Request-Id has at most \(Self.requestIdBytesMax) bytes.")
        }
        return onceKeys.key(id, request)
    }

    /// Whether `onceId` has to decide about a request.
    func mayBeOnce(_ request: ParseRequest) -> Bool {
        !settings.onceRoutes.isEmpty && request.headers.contains(Self.requestIdName)
    }

    /// Runs a request under its id. The id is on the disk before the request begins; it is given back only when the
    /// answer says that nothing was done, so that the client's next attempt is not told that it was.
    /// - Throws: `.duplicateRequest` (159) when a request with this id was here before.
    func once(_ id: String, trace: String, _ run: () async -> ParseResponse) async throws(ParseError) -> ParseResponse {
        let claim = ClaimRequest.with {
            $0.requestID = id
            $0.lifetimeMs = Int64(settings.onceSeconds) * 1000
        }
        _ = try await services.write(CatalogCalls.claimRequest, claim, for: .init(), trace: trace)
        let answer = await run()
        if answer.status == 503 {
            _ = try? await services.write(
                CatalogCalls.releaseRequest, ReleaseRequest.with { $0.requestID = id }, for: .init(), trace: trace)
        }
        return answer
    }

    private func isOnce(_ method: ParseRequest.Method, _ path: [Substring]) -> Bool {
        guard method == .post || method == .put else { return false }
        let route = RoutePattern.route(path)
        return settings.onceRoutes.contains { $0.matches(route) }
    }

    /// A batch runs once when one of its requests must: its id is that of all of them.
    private func holdsOnce(_ request: ParseRequest) -> Bool {
        guard request.path == ["batch"], case .array(let items)? = try? request.object["requests"] else { return false }
        return items.contains { item in
            guard let name = item["method"]?.stringValue, let method = ParseRequest.Method(rawValue: name.uppercased()),
                let text = item["path"]?.stringValue,
                let path = try? ParseRequest.path(String(text.prefix { $0 != "?" }))
            else { return false }
            // The mount has any number of components; a pattern that fits a part of the path is one that fits.
            return path.indices.contains { isOnce(method, Array(path[$0...])) }
        }
    }

    /// SDKs send a UUID.
    private static let requestIdBytesMax = 200
    private static let requestIdName = headerName("X-Parse-Request-Id")
}

extension Principal {
    /// Has a key that is not a client's.
    var isPrivileged: Bool { master || maintenance }
}
