import Messages
import NIOCore
import ParseProtocol

/// The rights to listen: the same keys, sessions, limits and rules as for a find over REST.
struct LiveAccess: Sendable {
    let settings: LiveSettings
    let principals: PrincipalResolver
    let admission: Admission
    let hooks: HookRegistry
    let leases: GatewayLeases

    /// The client that connects.
    /// - Throws: `LiveProblem` with code 4 for wrong keys, and for too many connections from there.
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
    /// - Throws: `.operationForbidden` (119) where clients may not find, `.connectionFailed` (100) for too many
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

    /// Decides about a class, before its owner is asked about the query.
    /// - Throws: `.operationForbidden` (119) when it has no live queries.
    func check(_ className: String) async throws(ParseError) {
        guard settings.allows(className) else {
            throw ParseError(.operationForbidden, "The class \(className.prefix(128)) has no live queries.")
        }
        guard LiveStanding(of: className, in: try await hooks.table()) != .closed else { throw Self.closed(className) }
    }

    /// The error where what finds show of a class is changed and what live queries show is not.
    static func closed(_ className: String) -> ParseError {
        ParseError(
            .operationForbidden,
            """
            The class \(className.prefix(128)) has a beforeFind or afterFind trigger, and so live queries only where \
            cloud code has beforeSubscribe or afterLiveQueryEvent beside it.
            """)
    }

    /// How classes stand by the triggers that there are now, which may have changed since subscriptions began. While
    /// nobody can be asked it is by those that were known last; nil where another gateway may have changed them.
    func standing() async -> ((String) -> LiveStanding)? {
        do throws(ParseError) {
            let table = try await hooks.table()
            return { LiveStanding(of: $0, in: table) }
        } catch {
            guard leases.hooks.isValid else { return nil }
            let last = hooks.last
            return { name in last.map { LiveStanding(of: name, in: $0) } ?? .open }
        }
    }

    func signIn(_ admitted: Principal, _ credentials: Credentials) async throws(ParseError) -> Principal {
        try await principals.signIn(admitted, credentials, trace: RequestIds.next())
    }

    private func request(_ path: [Substring], from address: SocketAddress?) -> ParseRequest {
        ParseRequest(method: .get, path: path, requestId: RequestIds.next(), clientAddress: address)
    }
}
