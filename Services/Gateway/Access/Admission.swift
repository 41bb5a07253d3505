import HTTPTypes
import Messages
import ParseProtocol

/// The checks that a request passes before its route runs: rate limits, which also count requests with wrong keys, the
/// list of routes open to clients, the read-only key and repeated requests. Each request of a batch passes the checks
/// on its own, except that for repeated requests: the batch passes it as a whole.
///
/// A class, so that a request copies nothing of it.
final class Admission: Sendable {
    let settings: AdmissionSettings
    let limiter: RateLimiter
    let services: ServiceClient
    private let deduplicationKeys: DeduplicationKeys

    init(settings: AdmissionSettings, masterKey: String, services: ServiceClient) {
        self.settings = settings
        self.services = services
        deduplicationKeys = DeduplicationKeys(masterKey: masterKey)
        limiter = RateLimiter(settings.rateRules)
    }

    // MARK: Limits and rights

    /// Counts a request against the limits per address, before the session is looked up.
    /// - Parameter principal: nil before the keys are checked, and when they are wrong.
    /// - Returns: the refusal; nil when the request may go on.
    func refusal(byAddress request: ParseRequest, _ principal: Principal?) -> ParseResponse? {
        if limiter.isOff { return nil }
        return limiter.refusal(
            .address, request.method.rawValue, RoutePattern.route(request.path),
            .init(address: request.clientAddress), isMaster: principal?.isPrivileged ?? false
        ).map(Self.tooMany)
    }

    /// Checks the read-only key and the list of client routes, then counts the request against the limits per user and
    /// session.
    /// - Parameter request: its path without the mount.
    /// - Returns: the refusal; nil when the request may go on.
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
        // A sign-in counts by address alone: an existing session must not give it a separate count.
        if !ParseRouter.ignoresSession(request) {
            keys.userId = principal.userID
            keys.sessionToken = principal.sessionToken
        }
        return limiter.refusal(.person, request.method.rawValue, route, keys, isMaster: principal.isPrivileged)
            .map(Self.tooMany)
    }

    /// Checks a request of a batch. Rate limits count it like any other request.
    func refusal(inBatch request: ParseRequest, _ principal: Principal) -> ParseResponse? {
        refusal(byAddress: request, principal) ?? refusal(to: request, principal)
    }

    private static func tooMany(_ seconds: Int) -> ParseResponse {
        var answer = ParseResponse(ParseError(.connectionFailed, "Too many requests. Try again later."))
        answer.retryAfterSeconds = seconds
        return answer
    }

    /// The principal with its rights on a path. The maintenance key acts as the master key on routes of objects, and on
    /// no other route.
    func rights(_ principal: Principal, for path: [Substring]) -> Principal {
        guard principal.maintenance, !principal.master, let first = path.first,
            first == "classes" || OwnClasses.byPath[first] != nil
        else { return principal }
        var raised = principal
        raised.master = true
        return raised
    }

    // MARK: Repeated requests

    /// The key under which a request with an `X-Parse-Request-Id` runs once; nil for a request that may be repeated.
    /// - Throws: `.invalidJSON` (107) for an id that is too long.
    func deduplicationKey(of request: ParseRequest) throws(ParseError) -> String? {
        guard let id = request.headers[Self.requestIdName], !id.isEmpty,
            isDeduplicated(request.method, request.path) || containsDeduplicated(request)
        else { return nil }
        guard id.utf8.count <= Self.requestIdBytesMax else {
            throw ParseError(
                .invalidJSON, "X-Parse-Request-Id must not be longer than \(Self.requestIdBytesMax) bytes.")
        }
        return deduplicationKeys.key(id, request)
    }

    /// Whether `deduplicationKey` has to inspect a request.
    func mayHaveRequestId(_ request: ParseRequest) -> Bool {
        !settings.deduplicatedRoutes.isEmpty && request.headers.contains(Self.requestIdName)
    }

    /// Whether `keyedWrite` has to inspect a request. A read may be repeated without a key.
    func mayBeKeyed(_ request: ParseRequest) -> Bool {
        request.method != .get && request.headers.contains(Self.idempotencyKeyName)
    }

    /// The write that the request's `Idempotency-Key` identifies; nil without that header, and with the read-only key,
    /// which writes nothing.
    /// - Throws: `.invalidJSON` (107) for a malformed key.
    func keyedWrite(of request: ParseRequest, for principal: Principal) throws(ParseError) -> KeyedWrite? {
        guard !principal.readOnly, let key = request.headers[Self.idempotencyKeyName] else { return nil }
        guard (1...Self.idempotencyKeyBytesMax).contains(key.utf8.count),
            key.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw ParseError(
                .invalidJSON,
                "Idempotency-Key must have 1 to \(Self.idempotencyKeyBytesMax) ASCII characters and no spaces.")
        }
        return deduplicationKeys.write(key, of: Self.client(principal), request)
    }

    /// The scope of an `Idempotency-Key`: equal keys of two scopes differ. A user, else a device, else a network.
    private static func client(_ principal: Principal) -> String {
        if principal.isPrivileged { return principal.master ? "master" : "maintenance" }
        if !principal.userID.isEmpty { return "user \(principal.userID)" }
        let device = principal.installationID
        return device.isEmpty ? "network \(principal.network)" : "device \(device)"
    }

    /// Stores the id of a request before it runs.
    /// - Throws: `.duplicateRequest` (159) when the id is stored already.
    func claim(_ id: String, in context: CallContext) async throws(ParseError) {
        let claim = ClaimRequest.with {
            $0.requestID = id
            $0.lifetimeMs = Int64(settings.deduplicationSeconds) * 1000
        }
        _ = try await services.write(CatalogCalls.claimRequest, claim, for: .init(), in: context)
    }

    /// Removes the id of a request that did nothing, so that the client's next attempt runs.
    func release(_ id: String, in context: CallContext) async {
        _ = try? await services.write(
            CatalogCalls.releaseRequest, ReleaseRequest.with { $0.requestID = id }, for: .init(), in: context)
    }

    private func isDeduplicated(_ method: ParseRequest.Method, _ path: [Substring]) -> Bool {
        guard method == .post || method == .put else { return false }
        let route = RoutePattern.route(path)
        return settings.deduplicatedRoutes.contains { $0.matches(route) }
    }

    /// Whether a batch has a request that must run once. Then the whole batch runs once, under its own id.
    private func containsDeduplicated(_ request: ParseRequest) -> Bool {
        guard request.path == ["batch"], case .array(let items)? = try? request.object["requests"] else { return false }
        return items.contains { item in
            guard let name = item["method"]?.stringValue, let method = ParseRequest.Method(rawValue: name.uppercased()),
                let text = item["path"]?.stringValue,
                let path = try? ParseRequest.path(String(text.prefix { $0 != "?" }))
            else { return false }
            // The mount has any number of components, so every suffix of the path is compared.
            return path.indices.contains { isDeduplicated(method, Array(path[$0...])) }
        }
    }

    /// SDKs send a UUID, which has 36 characters.
    private static let requestIdBytesMax = 200
    private static let requestIdName = headerName("X-Parse-Request-Id")
    /// Clients usually send a UUID, which has 36 characters.
    private static let idempotencyKeyBytesMax = 255
    private static let idempotencyKeyName = headerName("Idempotency-Key")
}

extension Principal {
    /// True for a key that clients do not have.
    var isPrivileged: Bool { master || maintenance }
}
