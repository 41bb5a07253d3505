import Logging
import MessageBus
import Messages
import ParseProtocol

/// The stages of a request between HTTP and the handler of its route (`RouteTable`). `passed` has them in order: mount,
/// tunnel, keys, session, admission, viewer, once, route. Before them stand the pages for people, which are none of the
/// protocol's.
///
/// A class, because every call carries it along: as a value it would be copied with all it holds.
final class ParseRouter: Sendable {
    let configuration: GatewayConfiguration
    let mount: Mount
    let tunnel: Tunnel
    let admission: Admission
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
        tunnel = Tunnel(applicationId: configuration.applicationId)
        self.admission = admission
        self.principals = principals
        self.hooks = hooks
        self.controllers = controllers
        self.meter = meter
        self.logger = logger
    }

    /// Answers a request from the wire, under a budget of its own, and counts it. Never throws: every error is an
    /// answer.
    func answer(_ request: ParseRequest) async -> ParseResponse {
        let budget = RequestBudget(microseconds: configuration.requestBudgetMicroseconds)
        budget.use(jsonBytes: request.body.count)
        return await RequestBudget.$current.withValue(budget) {
            var request = request
            let response = await answered(&request)
            if request.isCounted { meter.count(request, response) }
            return response
        }
    }

    private func answered(_ request: inout ParseRequest) async -> ParseResponse {
        do throws(ParseError) {
            return try await passed(&request)
        } catch {
            return response(to: error)
        }
    }

    // MARK: - The stages

    /// Every stage in order; each may be the last one and answer.
    private func passed(_ request: inout ParseRequest) async throws(ParseError) -> ParseResponse {
        // Pages for people, which are beside the mount wherever that is.
        if let page = controllers.site?.answer(request) { return page }

        // Mount: what is not under it has routes of its own. Some routes under it need no keys.
        guard let path = mount.stripped(from: request.path) else { return try await runOutside(request) }
        request.path = path
        var route = RouteTable.mounted.route(request.method, path)
        if route?.access == .anyone || path.first == "apps" { return try await runOpen(request, route) }
        request.isCounted = true

        // Tunnel: credentials and verb come out of the body.
        if try tunnel.open(&request) { route = RouteTable.mounted.route(request.method, path) }

        // Keys: which app it is, and whether the operator. Wrong ones count by address, too.
        let admitted = principals.admit(request)
        if let refusal = admission.refusal(byAddress: request, admitted) { return refusal }
        guard let client = admitted else { return .forbidden() }

        // Session: which user it is.
        let principal = try await signedIn(client, request, route)
        // The operator's exports and imports take what they take; each query of them has the store's own limit.
        if principal.isPrivileged { RequestBudget.current?.lift() }

        // Admission: the read-only key, the routes that are open to clients, limits by user.
        if let refusal = admission.refusal(to: request, principal) { return refusal }

        // Viewer: as whom an operator looks.
        request.viewer = try await viewer(of: request, for: principal)

        // Once, then the route.
        return try await runOnce(request, route, principal)
    }

    /// A route beside the mount, for anybody.
    private func runOutside(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let route = RouteTable.outside.route(request.method, request.path)
        return try await run(request, route, .stranger(request.network))
    }

    /// A route that needs no keys. Whoever follows a broken link from a mail is told so on a page.
    private func runOpen(_ request: ParseRequest, _ route: Route?) async throws(ParseError) -> ParseResponse {
        let open = route?.access == .anyone ? route : nil
        // Load balancers and payment providers are not counted.
        if open?.tag != .system, let refusal = admission.refusal(byAddress: request, nil) { return refusal }
        guard let open else { return await controllers.pages.answer(request) }
        return try await run(request, open, .stranger(request.network))
    }

    /// A request with an id that was here before is not run again.
    private func runOnce(
        _ request: ParseRequest, _ route: Route?, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard let id = try admission.onceId(of: request) else { return await runAdmitted(request, route, principal) }
        return try await admission.once(id, trace: request.requestId) {
            await self.runAdmitted(request, route, principal)
        }
    }

    /// A request that nothing stands before any more, from the wire or of a batch.
    func runAdmitted(_ request: ParseRequest, _ route: Route?, _ principal: Principal) async -> ParseResponse {
        do throws(ParseError) {
            if request.isInBatch, route?.access == .anyone { throw Self.noRoute }
            return try await run(request, route, admission.rights(principal, for: request.path))
        } catch {
            return response(to: error)
        }
    }

    /// The only place that runs a route's handler.
    private func run(
        _ request: ParseRequest, _ route: Route?, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard let route else { throw Self.noRoute }
        guard route.access.admits(principal) else { return .forbidden("unauthorized: master key is required") }
        guard let handler = route.handler else { throw .notBuilt(route.path) }
        var request = request
        if let context = request.credentials.context { request.context = try Self.context(context) }
        request.hooks = hooks.scope(of: request)
        let call = RouteCall(router: self, route: route, request: request, principal: principal)
        do {
            return try await handler(call)
        } catch let error as ParseError {
            throw error
        } catch {
            throw .internalError
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

    // MARK: - Errors

    func response(to error: ParseError) -> ParseResponse {
        // Unknown routes are 404 for health checks of SDKs; the code says what it is.
        error == Self.noRoute ? ParseResponse(status: 404, error.body) : ParseResponse(error)
    }

    static let noRoute = ParseError(.commandUnavailable, "There is no such route.")
}
