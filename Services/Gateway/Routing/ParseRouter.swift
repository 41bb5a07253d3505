import Logging
import MessageBus
import Messages
import ParseProtocol

/// The components that the stages of a request use (`RequestMachine`). It also runs requests that pass fewer stages:
/// requests of a batch and of cloud code.
///
/// A class, because every call carries it: a struct would be copied with all of its parts.
final class ParseRouter: Sendable {
    let configuration: GatewayConfiguration
    let mount: Mount
    /// The first component of the mount; nil when a page's path may begin with it, so that a prefix decides nothing.
    private let mountFolder: Substring?
    let tunnel: Tunnel
    let guidance: Guidance
    let admission: Admission
    let keyedWrites: KeyedWrites
    let principals: PrincipalResolver
    let hooks: HookScopes
    let controllers: Controllers
    let meter: RequestMeter
    let logger: Logger

    init(
        configuration: GatewayConfiguration, admission: Admission, principals: PrincipalResolver, hooks: HookScopes,
        controllers: Controllers, meter: RequestMeter, logger: Logger
    ) {
        self.configuration = configuration
        mount = Mount(components: configuration.mount, publicComponents: configuration.publicPath)
        mountFolder = configuration.mount.first.flatMap { WebSite.mayBeFolder($0) ? nil : $0 }
        tunnel = Tunnel(applicationId: configuration.applicationId)
        guidance = Guidance(configuration)
        self.admission = admission
        keyedWrites = KeyedWrites(services: admission.services, links: configuration.fileLinks)
        self.principals = principals
        self.hooks = hooks
        self.controllers = controllers
        self.meter = meter
        self.logger = logger
    }

    /// Whether a path certainly begins with the mount, and so belongs to no page. One comparison.
    func beginsWithMount(_ path: [Substring]) -> Bool { mountFolder.map { path.first == $0 } ?? false }

    // MARK: - Routes

    /// The result of checking a request's route.
    enum Admitted {
        case call(RouteCall)
        /// There is no such route, or it is not open to the principal.
        case refused(ParseResponse)
    }

    /// The call of a route's handler.
    /// - Throws: for a context that is not valid.
    func call(_ request: ParseRequest, _ route: Route?, _ principal: Principal) throws(ParseError) -> Admitted {
        guard let route else { return .refused(guidance.noRoute(request.method, request.path)) }
        let principal = admission.rights(principal, for: request.path)
        guard route.access.admits(principal) else {
            // Parse Server refuses `loginAs` with code 119 instead of 403.
            if route.id == "logInAs" { throw ParseError(.operationForbidden, "master key is required") }
            return .refused(.masterKeyNeeded)
        }
        var request = request
        if let context = request.credentials.context { request.context = try Self.context(context) }
        request.hooks = hooks.scope(of: request)
        return .call(RouteCall(router: self, route: route, request: request, principal: principal))
    }

    /// The only place that runs a route's handler.
    func run(_ call: RouteCall) async throws(ParseError) -> ParseResponse {
        do {
            return try await call.route.handler(call)
        } catch let error as ParseError {
            throw error
        } catch {
            throw .internalError
        }
    }

    private func run(_ request: ParseRequest, _ route: Route?, _ principal: Principal) async -> ParseResponse {
        do throws(ParseError) {
            switch try call(request, route, principal) {
            case .call(let call): return try await run(call)
            case .refused(let answer): return answer
            }
        } catch {
            return response(to: error)
        }
    }

    /// `X-Parse-Cloud-Context` or `_context`: an object, or the text of one.
    /// - Throws: `.invalidJSON` (107).
    private static func context(_ value: JSON) throws(ParseError) -> JSON {
        let context = value.stringValue.map { try? JSON(parsing: $0) } ?? value
        guard let context, case .object = context else {
            throw ParseError(.invalidJSON, "Invalid object for context.")
        }
        return context
    }

    // MARK: - Sessions

    /// The admitted client with the user of its session, unless the route ignores sessions.
    /// - Throws: `.invalidSessionToken` (209) for a session that has ended, except for a sign-up: an app whose user was
    ///   deleted still sends that user's token, and needs a new account.
    func signedIn(_ client: Principal, _ request: ParseRequest, _ route: Route?) async throws(ParseError) -> Principal {
        if route?.ignoresSession == true { return client }
        do throws(ParseError) {
            return try await principals.signIn(client, request.credentials, in: request.call)
        } catch  where error.code == .invalidSessionToken && Self.signsUp(request) {
            return client
        }
    }

    private static func signsUp(_ request: ParseRequest) -> Bool {
        request.method == .post && (request.path == ["users"] || request.path == ["classes", "_User"])
    }

    /// Whether the route ignores the session token, as sign-in and sign-up do. Rate limits then count by address alone.
    static func ignoresSession(_ request: ParseRequest) -> Bool {
        RouteTable.mounted.route(request.method, request.path)?.ignoresSession ?? false
    }

    // MARK: - Batches

    /// Refuses a request of a batch that does not run. Keys and session were checked with the batch.
    /// - Returns: nil for a request that runs.
    func refusal(inBatch request: ParseRequest, _ principal: Principal) -> ParseResponse? {
        guard let path = mount.stripped(from: request.path) else { return ParseResponse(Self.noRoute) }
        // Rate limits and the route list are for clients, not for the code that works for them.
        guard request.codeDepth == 0 else { return nil }
        var request = request
        request.path = path
        return admission.refusal(inBatch: request, principal)
    }

    /// Answers a request of a batch that `refusal(inBatch:)` lets pass.
    func answer(inBatch request: ParseRequest, _ principal: Principal) async -> ParseResponse {
        var request = request
        request.path = mount.stripped(from: request.path) ?? []
        let route = RouteTable.mounted.route(request.method, request.path)
        guard route?.access != .anyone else { return response(to: Self.noRoute) }
        return await run(request, route, principal)
    }

    // MARK: - Cloud code

    /// Answers a request of cloud code. The code needs no keys, and its requests count for no rate limit: the client's
    /// call of the code did. Never throws: an error is in the response.
    /// - Parameters:
    ///   - request: with the mount in its path.
    ///   - isMaster: whether the code used the master key; else the caller is the user of the request's session token,
    ///     or a guest.
    func answer(ofCode request: ParseRequest, isMaster: Bool) async -> ParseResponse {
        guard let path = mount.stripped(from: request.path) else { return response(to: Self.noRoute) }
        var request = request
        request.path = path
        var client = Principal.of(network: request.network)
        client.master = isMaster
        if let id = request.credentials.installationId { client.installationID = id }
        let route = RouteTable.mounted.route(request.method, path)
        do throws(ParseError) {
            return await run(request, route, try await signedIn(client, request, route))
        } catch {
            return response(to: error)
        }
    }

    // MARK: - Errors

    func response(to error: ParseError) -> ParseResponse {
        // Unknown routes are 404 for health checks of SDKs.
        error == Self.noRoute ? ParseResponse(status: 404, error.body) : ParseResponse(error)
    }

    static let noRoute = ParseError(.commandUnavailable, "There is no such route.")
}
