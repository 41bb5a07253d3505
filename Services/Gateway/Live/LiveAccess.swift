import Messages
import NIOCore
import ParseProtocol

/// The checks of live query clients: the same keys, sessions, limits and rules as for a find over REST.
struct LiveAccess: Sendable {
    let settings: LiveSettings
    let principals: PrincipalResolver
    let admission: Admission
    let hooks: HookRegistry
    let leases: GatewayLeases

    /// The principal of a connecting client.
    /// - Throws: `LiveProblem` with code 4 for wrong keys, and for too many connections from its address.
    func admit(_ connect: LiveConnect, from address: SocketAddress?) throws(LiveProblem) -> Principal {
        var request = request(["live"], from: address)
        request.credentials = connect.credentials
        let admitted = principals.admit(request)
        if admission.refusal(byAddress: request, admitted) != nil {
            throw LiveProblem(100, "Too many requests. Try again later.")
        }
        guard let admitted else { throw .wrongKey }
        return admitted
    }

    /// Counts a subscription as a find of the class.
    /// - Throws: `.operationForbidden` (119) when clients may not find, `.connectionFailed` (100) for too many
    ///   requests.
    func count(_ className: String, _ principal: Principal, from address: SocketAddress?) throws(ParseError) {
        let request = request(["classes", className[...]], from: address)
        if let refusal = admission.refusal(inBatch: request, principal) {
            guard refusal.retryAfterSeconds == nil else {
                throw ParseError(.connectionFailed, "Too many requests. Try again later.")
            }
            throw ParseError(.operationForbidden, "This route is not open to clients.")
        }
    }

    /// Checks the class before its owner checks the query.
    /// - Throws: `.operationForbidden` (119) when the class has no live queries.
    func check(_ className: String, in context: CallContext) async throws(ParseError) {
        guard settings.allows(className) else {
            throw ParseError(.operationForbidden, "The class \(className.prefix(128)) has no live queries.")
        }
        guard LiveTriggerPolicy(of: className, in: try await hooks.table(in: context)) != .closed else {
            throw Self.closed(className)
        }
    }

    /// The error for a class whose triggers change the results of finds but not live query events.
    static func closed(_ className: String) -> ParseError {
        ParseError(
            .operationForbidden,
            """
            The class \(className.prefix(128)) has a beforeFind or afterFind trigger, and so live queries only where \
            cloud code has beforeSubscribe or afterLiveQueryEvent beside it.
            """)
    }

    /// The classes' trigger status by the current table, which may have changed since the subscriptions began. While
    /// the catalog cannot be reached, the last known table is used; nil when another gateway may have changed it.
    func triggerPolicies() async -> ((String) -> LiveTriggerPolicy)? {
        do throws(ParseError) {
            let table = try await hooks.table(in: CallContext())
            return { LiveTriggerPolicy(of: $0, in: table) }
        } catch {
            guard leases.hooks.isValid else { return nil }
            let last = hooks.last
            return { name in last.map { LiveTriggerPolicy(of: name, in: $0) } ?? .open }
        }
    }

    func signIn(
        _ admitted: Principal, _ credentials: Credentials, in context: CallContext
    ) async throws(ParseError) -> Principal {
        try await principals.signIn(admitted, credentials, in: context)
    }

    private func request(_ path: [Substring], from address: SocketAddress?) -> ParseRequest {
        ParseRequest(method: .get, path: path, call: CallContext(), clientAddress: address)
    }
}
