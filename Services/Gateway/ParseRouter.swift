import Logging
import MessageBus
import Messages
import ParseProtocol

/// From a request to the route that answers it (`RouteTable`): tunnels, keys and sessions.
///
/// A class, because every call carries it along: as a value it would be copied with all it holds.
final class ParseRouter: Sendable {
    let configuration: GatewayConfiguration
    let admission: Admission
    let principals: PrincipalResolver
    let objects: ObjectsController
    let aggregates: AggregateController
    let accounts: AccountsController
    let functions: FunctionsController
    let intake: IntakeController
    let schemas: SchemasController
    let exports: ExportController
    let imports: ImportController
    let config: ConfigController
    let files: FilesController
    let push: PushController
    let pages: PagesController
    let sentry: SentryController
    let system: SystemController
    let cloud: CloudController
    let meter: RequestMeter
    let logger: Logger

    init(
        configuration: GatewayConfiguration,
        admission: Admission,
        principals: PrincipalResolver,
        objects: ObjectsController,
        aggregates: AggregateController,
        accounts: AccountsController,
        functions: FunctionsController,
        intake: IntakeController,
        schemas: SchemasController,
        exports: ExportController,
        imports: ImportController,
        config: ConfigController,
        files: FilesController,
        push: PushController,
        pages: PagesController,
        sentry: SentryController,
        system: SystemController,
        cloud: CloudController,
        meter: RequestMeter,
        logger: Logger
    ) {
        self.configuration = configuration
        self.admission = admission
        self.principals = principals
        self.objects = objects
        self.aggregates = aggregates
        self.accounts = accounts
        self.functions = functions
        self.intake = intake
        self.schemas = schemas
        self.exports = exports
        self.imports = imports
        self.config = config
        self.files = files
        self.push = push
        self.pages = pages
        self.sentry = sentry
        self.system = system
        self.cloud = cloud
        self.meter = meter
        self.logger = logger
    }

    /// Answers a request from the wire. Never throws: every error is an answer.
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
            guard let path = withoutMount(request.path) else {
                let route = RouteTable.outside.route(request.method, request.path)
                return try await answer(request, route, .stranger(request.network))
            }
            request.path = path
            var route = RouteTable.mounted.route(request.method, path)
            let open = route?.access == .anyone ? route : nil
            // Whoever follows a broken link from a mail is told so on a page.
            if open != nil || path.first == "apps" {
                // Load balancers and payment providers are not counted.
                if open?.tag != .system, let refusal = admission.refusal(byAddress: request, nil) { return refusal }
                guard let open else { return await pages.answer(request) }
                return try await answer(request, open, .stranger(request.network))
            }
            request.isCounted = true
            if try untunnel(&request) { route = RouteTable.mounted.route(request.method, path) }
            let keyed = principals.admit(request)
            if let refusal = admission.refusal(byAddress: request, keyed) { return refusal }
            guard let client = keyed else { return .forbidden() }
            let principal = try await signedIn(client, request, route)
            // The operator's exports and imports take what they take; each query of them has the store's own limit.
            if principal.isPrivileged { RequestBudget.current?.lift() }
            if let refusal = admission.refusal(to: request, principal) { return refusal }
            guard let id = try admission.onceId(of: request) else { return await admitted(request, route, principal) }
            return try await admission.once(id, trace: request.requestId) { [request, route] in
                await self.admitted(request, route, principal)
            }
        } catch {
            return response(to: error)
        }
    }

    private func admitted(
        _ request: ParseRequest, _ route: Route?, _ principal: Principal
    ) async -> ParseResponse {
        do throws(ParseError) {
            if request.isInBatch, route?.access == .anyone { throw Self.noRoute }
            return try await answer(request, route, admission.rights(principal, for: request.path))
        } catch {
            return response(to: error)
        }
    }

    /// The only place that runs a route's handler.
    private func answer(
        _ request: ParseRequest, _ route: Route?, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard let route else { throw Self.noRoute }
        if route.access == .master, !principal.master { return .forbidden("unauthorized: master key is required") }
        guard let handler = route.handler else { throw .notBuilt(route.path) }
        var request = request
        if let context = request.credentials.context { request.context = try Self.context(context) }
        request.hooks = cloud.hooks(for: request)
        let call = RouteCall(router: self, route: route, request: request, principal: principal)
        do {
            return try await handler(call)
        } catch let error as ParseError {
            throw error
        } catch {
            throw .internalError
        }
    }

    /// The admitted client with the user of its session, as far as the route looks at it.
    /// - Throws: `.invalidSessionToken` (209) for a session that has ended, except to sign up: an app whose user was
    ///   deleted still sends that user's token, and a new account is how it goes on.
    func signedIn(
        _ client: Principal, _ request: ParseRequest, _ route: Route?
    ) async throws(ParseError) -> Principal {
        if route?.ignoresSession == true { return client }
        do throws(ParseError) {
            return try await principals.signIn(client, request.credentials, trace: request.requestId)
        } catch  where error.code == .invalidSessionToken && Self.signsUp(request) {
            return client
        }
    }

    private static func signsUp(_ request: ParseRequest) -> Bool {
        request.method == .post && (request.path == ["users"] || request.path == ["classes", "_User"])
    }

    /// Whether the request is about to prove who it is, so that a session it may already have says nothing.
    static func signsIn(_ request: ParseRequest) -> Bool {
        RouteTable.mounted.route(request.method, request.path)?.ignoresSession ?? false
    }

    /// Answers a request of a batch, whose credentials were checked with the batch's and which `refusal(inBatch:)` lets pass.
    func answer(inBatch request: ParseRequest, _ principal: Principal) async -> ParseResponse {
        var request = request
        request.path = withoutMount(request.path) ?? []
        return await admitted(request, RouteTable.mounted.route(request.method, request.path), principal)
    }

    /// Why a request of a batch is not even tried; nil when it is.
    func refusal(inBatch request: ParseRequest, _ principal: Principal) -> ParseResponse? {
        guard let path = withoutMount(request.path) else { return ParseResponse(Self.noRoute) }
        var request = request
        request.path = path
        return admission.refusal(inBatch: request, principal)
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

    func response(to error: ParseError) -> ParseResponse {
        // Unknown routes are 404 for health checks of SDKs; the code says what it is.
        error == Self.noRoute ? ParseResponse(status: 404, error.body) : ParseResponse(error)
    }

    static let noRoute = ParseError(.commandUnavailable, "There is no such route.")

    /// The path under the mount, or under `/1`, where hosted Parse was.
    func withoutMount(_ path: [Substring]) -> [Substring]? {
        if path.first == "1" { return Array(path.dropFirst()) }
        guard path.starts(with: configuration.mount) else { return nil }
        return Array(path.dropFirst(configuration.mount.count))
    }

    /// A path of a batch's request as the router knows it: clients write it as they see the server, which may be under
    /// another path behind a proxy (`SATCHEL_PUBLIC_URL`).
    /// - Throws: `.invalidJSON` (107) for a path that leads elsewhere.
    func path(inBatch text: String) throws(ParseError) -> [Substring] {
        let path = try ParseRequest.path(text)
        if withoutMount(path) != nil { return path }
        guard path.starts(with: configuration.publicPath) else {
            throw ParseError(.invalidJSON, "cannot route batch path \(text.prefix(256))")
        }
        return configuration.mount + path.dropFirst(configuration.publicPath.count)
    }

    /// Whether the body is a file, which may be larger than other bodies.
    func isUpload(_ request: ParseRequest) -> Bool {
        request.method == .post && withoutMount(request.path)?.first == "files"
    }

    /// A body may carry credentials, options and the real verb, whatever its content type says (PARSE_PROTOCOL section 1.2).
    /// - Returns: whether the request now has another verb.
    private func untunnel(_ request: inout ParseRequest) throws(ParseError) -> Bool {
        // A client that knows its headers sends the application id there; its body is passed on as it is.
        let isFile = request.path.first == "files"
        if request.path.first == "import" { return false }
        if !isFile { try request.readForm() }
        guard request.method == .post,
            // An id that is not the shop's may be a proxy's or an older app's: what the body says counts then (PARSE_PROTOCOL 1.2).
            request.credentials.applicationId != configuration.applicationId
                || (!isFile && mayOverrideMethod(request))
        else { return false }
        // The bytes of a file without an application id are no JSON that somebody got wrong.
        if isFile, request.body.first != UInt8(ascii: "{") { return false }
        let method = request.method
        var body = try request.object
        if let meant = try request.credentials.take(from: &body, knownId: configuration.applicationId) {
            guard let method = ParseRequest.Method(rawValue: meant.uppercased()) else {
                throw ParseError(.invalidJSON, "_method is not a method of the protocol.")
            }
            request.method = method
        }
        request.tunnelled = body
        return request.method != method
    }

    /// Header clients may still send `_method` in a body (Swift's POST queries); looking for the text avoids a decode.
    private func mayOverrideMethod(_ request: ParseRequest) -> Bool {
        request.isForm ? request.tunnelled?["_method"] != nil : request.body.contains(text: "\"_method\"")
    }
}
