import HTTPTypes
import Messages
import ParseProtocol

/// The checks that a request with valid keys passes before its route runs: rate limits, the list of routes open to
/// clients, the read-only key and repeated requests. Each request of a batch passes the checks on its own.
///
/// A class, so that a request copies nothing of it.
final class Admission: Sendable {
    let settings: AdmissionSettings
    let limiter: RateLimiter
    let services: ServiceClient
    private let onceKeys: DeduplicationKeys

    init(settings: AdmissionSettings, masterKey: String, services: ServiceClient) {
        self.settings = settings
        self.services = services
        onceKeys = DeduplicationKeys(masterKey: masterKey)
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
        if !ParseRouter.signsIn(request) {
            keys.userId = principal.userID
            keys.sessionToken = principal.sessionToken
        }
        return limiter.refusal(.person, request.method.rawValue, route, keys, isMaster: principal.isPrivileged)
            .map(Self.tooMany)
    }

    /// Checks a request of a batch, which counts like any other request.
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

    /// The key under which a request that `mayBeOnce` may run only once; nil when it may be repeated.
    /// - Throws: `.invalidJSON` (107) for an id that is too long.
    func onceId(of request: ParseRequest) throws(ParseError) -> String? {
        guard let id = request.headers[Self.requestIdName], !id.isEmpty,
            isOnce(request.method, request.path) || holdsOnce(request)
        else { return nil }
        guard id.utf8.count <= Self.requestIdBytesMax else {
            throw ParseError(.invalidJSON, "X-Parse-Request-Id has at most \(Self.requestIdBytesMax) bytes.")
        }
        return onceKeys.key(id, request)
    }

    /// Whether `onceId` has to inspect a request.
    func mayBeOnce(_ request: ParseRequest) -> Bool {
        !settings.onceRoutes.isEmpty && request.headers.contains(Self.requestIdName)
    }

    /// Whether `write` has to inspect a request. A read may be repeated without a key.
    func mayBeKeyed(_ request: ParseRequest) -> Bool {
        request.method != .get && request.headers.contains(Self.idempotencyKeyName)
    }

    /// The write of a request with an `Idempotency-Key`; nil for one of the read-only key, which writes nothing.
    /// - Throws: `.invalidJSON` (107) for a malformed key.
    func write(_ request: ParseRequest, _ principal: Principal) throws(ParseError) -> KeyedWrite? {
        guard !principal.readOnly, let key = request.headers[Self.idempotencyKeyName] else { return nil }
        guard (1...Self.idempotencyKeyBytesMax).contains(key.utf8.count),
            key.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw ParseError(
                .invalidJSON,
                "Idempotency-Key has 1 to \(Self.idempotencyKeyBytesMax) ASCII characters without spaces.")
        }
        return onceKeys.write(key, of: Self.client(principal), request)
    }

    /// The client whose keys are its own: the user on all devices, else the device, else the network.
    private static func client(_ principal: Principal) -> String {
        if principal.isPrivileged { return principal.master ? "master" : "maintenance" }
        if !principal.userID.isEmpty { return "user \(principal.userID)" }
        let device = principal.installationID
        return device.isEmpty ? "network \(principal.network)" : "device \(device)"
    }

    /// Stores the id of a request before it runs.
    /// - Throws: `.duplicateRequest` (159) when a request with this id was here before.
    func claim(_ id: String, in context: CallContext) async throws(ParseError) {
        let claim = ClaimRequest.with {
            $0.requestID = id
            $0.lifetimeMs = Int64(settings.onceSeconds) * 1000
        }
        _ = try await services.write(CatalogCalls.claimRequest, claim, for: .init(), in: context)
    }

    /// Removes the id of a request that did nothing, so that the client's next attempt runs.
    func release(_ id: String, in context: CallContext) async {
        _ = try? await services.write(
            CatalogCalls.releaseRequest, ReleaseRequest.with { $0.requestID = id }, for: .init(), in: context)
    }

    private func isOnce(_ method: ParseRequest.Method, _ path: [Substring]) -> Bool {
        guard method == .post || method == .put else { return false }
        let route = RoutePattern.route(path)
        return settings.onceRoutes.contains { $0.matches(route) }
    }

    /// A batch runs once when one of its requests must: its id counts for all of them.
    private func holdsOnce(_ request: ParseRequest) -> Bool {
        guard request.path == ["batch"], case .array(let items)? = try? request.object["requests"] else { return false }
        return items.contains { item in
            guard let name = item["method"]?.stringValue, let method = ParseRequest.Method(rawValue: name.uppercased()),
                let text = item["path"]?.stringValue,
                let path = try? ParseRequest.path(String(text.prefix { $0 != "?" }))
            else { return false }
            // The mount has any number of components, so every suffix of the path is compared.
            return path.indices.contains { isOnce(method, Array(path[$0...])) }
        }
    }

    /// SDKs send a UUID.
    private static let requestIdBytesMax = 200
    private static let requestIdName = headerName("X-Parse-Request-Id")
    /// A UUID has 36.
    private static let idempotencyKeyBytesMax = 255
    private static let idempotencyKeyName = headerName("Idempotency-Key")
}

extension Principal {
    /// True for a key that clients do not have.
    var isPrivileged: Bool { master || maintenance }
}
