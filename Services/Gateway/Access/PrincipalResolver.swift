import Messages
import NIOCore
import ParseProtocol

/// Determines the principal of a request: checks the keys and resolves the session token to a user.
///
/// A class, so that a request copies nothing of it.
final class PrincipalResolver: Sendable {
    private let configuration: GatewayConfiguration
    private let sessions: SessionCache
    let services: ServiceClient

    init(configuration: GatewayConfiguration, sessions: SessionCache, services: ServiceClient) {
        self.configuration = configuration
        self.sessions = sessions
        self.services = services
    }

    /// The principal that the keys give; nil when they are wrong (403).
    func admit(_ request: ParseRequest) -> Principal? {
        guard let id = request.credentials.applicationId, id == configuration.applicationId else { return nil }
        var principal = Principal.of(network: request.network)
        if let installationId = request.credentials.installationId { principal.installationID = installationId }
        if let key = request.credentials.maintenanceKey {
            guard let maintenanceKey = configuration.admission.maintenanceKey,
                GatewayConfiguration.isSame(key, maintenanceKey),
                configuration.admission.maintenanceKeyNetworks.contains(where: { $0.contains(request.clientAddress) })
            else { return nil }
            principal.maintenance = true
        }
        if let key = request.credentials.masterKey {
            guard configuration.masterKeyNetworks.contains(where: { $0.contains(request.clientAddress) }) else {
                return nil
            }
            let isMaster = GatewayConfiguration.isSame(key, configuration.masterKey)
            let isReadOnly = configuration.admission.readOnlyMasterKey.map { GatewayConfiguration.isSame(key, $0) }
            guard isMaster || isReadOnly == true else { return nil }
            principal.master = true
            principal.readOnly = !isMaster
        }
        guard !principal.isPrivileged else { return principal }
        guard !configuration.clientKeys.isEmpty else { return principal }
        let matches = configuration.clientKeys.contains { kind, key in
            request.credentials.clientKeys[kind].map { GatewayConfiguration.isSame($0, key) } ?? false
        }
        return matches ? principal : nil
    }

    /// Requests more time for a session in use. The request does not wait for it: the next look-up tries again.
    private func extend(_ token: String, in context: CallContext) {
        Task {
            _ = try? await services.write(
                UsersCalls.extendSession, ExtendSession.with { $0.sessionToken = token }, for: .init(), in: context)
        }
    }

    /// The admitted principal with the user of its session token.
    /// - Throws: `.invalidSessionToken` (209) for a token that is unknown or expired.
    func signIn(
        _ admitted: Principal, _ credentials: Credentials, in context: CallContext
    ) async throws(ParseError) -> Principal {
        if let cached = cachedSignIn(admitted, credentials) { return cached }
        guard let token = credentials.sessionToken, token.utf8.count <= Self.tokenBytesMax else {
            throw .invalidSession
        }
        let generation = sessions.find(token).generation
        let reply = try await services.read(
            UsersCalls.session, SessionRequest.with { $0.sessionToken = token },
            for: .with { $0.network = admitted.network }, in: context)
        let session = try reply.message
        var principal = Principal()
        principal.userID = session.userID
        principal.roles = Principal.roles(session.roles, restricted: session.restricted)
        principal.sessionToken = token
        principal.anonymous = session.anonymous
        principal.established = session.established
        principal.restricted = session.restricted
        if session.extendable { extend(token, in: context) }
        sessions.keep(principal, expiresAt: session.expiresAt, generation: generation)
        return Self.principal(principal, of: admitted)
    }

    /// The result of `signIn` from the cache of sessions alone; nil when `users` has to be asked.
    func cachedSignIn(_ admitted: Principal, _ credentials: Credentials) -> Principal? {
        guard let token = credentials.sessionToken, !admitted.isPrivileged else { return admitted }
        guard token.utf8.count <= Self.tokenBytesMax else { return nil }
        return sessions.find(token).principal.map { Self.principal($0, of: admitted) }
    }

    /// The longest session token that `users` is asked about.
    private static let tokenBytesMax = 128

    private static func principal(_ user: Principal, of admitted: Principal) -> Principal {
        var principal = user
        principal.installationID = admitted.installationID
        principal.network = admitted.network
        return principal
    }
}

extension Principal {
    /// A client without any rights.
    /// - Parameter network: `Network.clientNetwork` of its address.
    static func of(network: String) -> Principal { .with { $0.network = network } }
}
