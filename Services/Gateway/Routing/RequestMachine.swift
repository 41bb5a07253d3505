import MessageBus
import Messages
import ParseProtocol

/// The stages of a request between HTTP and its response, without I/O: page, mount, keyless (a route without keys),
/// tunnel, keys, session, admission, viewer, deduplication, route.
///
/// A driver calls `next()` and carries out the action. The event loop drives the machine of a small request. When
/// `next()` returns `needsTask`, `HTTPFront.complete` continues the same machine in a task. `HTTPFront.response` drives
/// the machine of every other request in a task from the start. No stage completes twice.
struct RequestMachine: Sendable {
    enum Action: Sendable {
        /// The request ends with this response.
        case respond(ParseResponse)
        /// Send one message to a service, and pass the reply to `resume(with:)`.
        case ask(ServiceMessage)
        /// The next stage waits, or takes too long for an event loop.
        /// - onLoop: the task may run on the event loop's thread, because it decodes little and its waiting blocks no
        ///   thread.
        case needsTask(onLoop: Bool)
        /// A step that waits. Only a task gets it.
        case perform(Step)
    }

    enum Step: Sendable {
        /// A page of the dashboard or for developers, whose files `web` must send first.
        case page(WebSite)
        /// A page of the storefront, which is not in the cache.
        /// - refusal: why the request gets an error page instead.
        indirect case storefront(StorefrontController, refusal: ParseResponse?)
        /// Look up the session of the admitted client; then `signedIn(_:)`.
        case signIn
        /// Look up the user whose view an operator wants; then `viewed(by:)`.
        case view
        /// Store the request id, so that the request does not run again; then `claimed(_:)`.
        case claim(String)
        /// Find the stored response of the write, or claim its key; then `keyClaimed(_:_:)`.
        case claimKey(KeyedWrite)
        /// The page for a link that leads nowhere.
        case brokenLink
        /// The handler of the request's route.
        indirect case route(RouteCall)
    }

    /// The next stage.
    private enum State: Sendable {
        case page, mount, keyless, brokenLink, tunnel, keys, session, admission, viewer, deduplication, route
        /// The route's handler has to run.
        case handler
        /// A service has to reply to the pending message.
        case asked
        /// The request ends with `refusal`.
        case refused
    }

    /// What the machine does with the reply that it waits for.
    enum Pending: Sendable {
        case read(ReadCache.Missing?)
        case file(FileRequest, FileCache.Look)
        case change(Change)
        case event
    }

    let router: ParseRouter
    private(set) var request: ParseRequest
    /// Known from the mount stage on; nil where there is none.
    private(set) var route: Route?
    /// The admitted client from the keys stage on, with its user from the session stage on.
    private(set) var principal = Principal()
    /// The request id that is stored for this request.
    private(set) var claimedId: String?
    /// The write with an `Idempotency-Key` that this request carries out.
    private(set) var keyedWrite: KeyedWrite?
    private(set) var isInTask = false
    private var state = State.page
    private var pending: Pending?
    private var refusal: ParseResponse?
    /// The rate limit has counted the request for a page of the storefront, and the cache was searched.
    private var hasLookedForPage = false

    /// - Parameter request: with the mount in its path. Its body may follow.
    init(_ router: ParseRouter, _ request: ParseRequest) {
        self.router = router
        self.request = request
        refusal = nil
    }

    /// A machine that only returns `response`, for a head that the gateway cannot parse.
    init(_ router: ParseRouter, refusing requestId: String, with response: ParseResponse) {
        self.router = router
        request = ParseRequest(method: .get, path: [], call: CallContext(trace: requestId), clientAddress: nil)
        refusal = response
        state = .refused
    }

    // MARK: - Events

    /// The body is complete. Call it before the first `next()`.
    /// - Parameter isFile: whether the body is a file; else it is text, and loses its byte order mark.
    mutating func received(_ body: [UInt8], isFile: Bool = false) {
        let hasMark = !isFile && body.starts(with: Self.byteOrderMark)
        request.body = hasMark ? Array(body.dropFirst(Self.byteOrderMark.count)) : body
    }

    /// Windows clients begin UTF-8 texts with it.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Sets the request's share of the memory for large responses. Call it before the first `next()`.
    mutating func setHold(_ hold: ByteHold) { request.call.hold = hold }

    /// Whether the request is at its first stage, where pages are answered.
    var isAtPage: Bool { state == .page }

    /// Whether the response is known: to a head that cannot be parsed, or to a page past a rate limit.
    var isRefused: Bool { refusal != nil }

    /// Stores the path for the statistics, after `HTTPFront` refused a large body.
    /// - Parameter path: under the mount.
    mutating func recordRefusal(at path: [Substring]) {
        request.path = path
        request.isCounted = true
    }

    /// A task drives the machine from now on.
    mutating func enterTask() { isInTask = true }

    /// Sets the budget of all calls from now on.
    mutating func setBudget(_ budget: RequestBudget) { request.call.budget = budget }

    /// The session was looked up.
    mutating func signedIn(_ principal: Principal) -> Action {
        self.principal = principal
        state = .admission
        return next()
    }

    /// The user whose view the operator wants was looked up.
    mutating func viewed(by viewer: Viewer?) -> Action {
        request.viewer = viewer
        state = .deduplication
        return next()
    }

    /// The request id is stored.
    mutating func claimed(_ id: String) -> Action {
        claimedId = id
        state = .route
        return next()
    }

    /// The key of the write is claimed.
    mutating func keyClaimed(_ write: KeyedWrite, _ keys: WriteKeys) -> Action {
        keyedWrite = write
        request.call.keys = keys
        state = .route
        return next()
    }

    /// The service has replied.
    mutating func resume(with result: ServiceResult) -> Action {
        guard let pending else { return .respond(ParseResponse(.internalError)) }
        self.pending = nil
        state = .handler
        return outcome(of: pending, result)
    }

    /// The action that sends a message. Its reply is for `pending`.
    mutating func ask(_ pending: Pending, _ message: ServiceMessage) -> Action {
        self.pending = pending
        state = .asked
        return .ask(message)
    }

    /// Stores the prepared part of a read for its route's handler.
    mutating func setPreparedRead(_ read: PreparedRead) { request.prepared = read }

    // MARK: - Stages

    /// Runs stages until one ends the request or has to wait.
    mutating func next() -> Action {
        do throws(ParseError) {
            while true {
                if let action = try stage() { return action }
            }
        } catch {
            return .respond(router.response(to: error))
        }
    }

    /// - Returns: nil when the next stage follows at once.
    private mutating func stage() throws(ParseError) -> Action? {
        switch state {
        case .page: return page()
        case .mount: return mount()
        case .keyless: return keyless()
        case .tunnel: return try tunnel()
        case .keys: return keys()
        case .session: return session()
        case .admission: return admission()
        case .viewer: return viewer()
        case .deduplication: return try deduplication()
        case .route:
            state = .handler
            return plain()
        case .handler: return try handler()
        case .brokenLink: return isInTask ? .perform(.brokenLink) : .needsTask(onLoop: false)
        case .asked, .refused: return .respond(refusal ?? ParseResponse(.internalError))
        }
    }

    /// The pages of the storefront, the dashboard and for developers. They are outside the mount and need no keys.
    private mutating func page() -> Action? {
        guard !router.beginsWithMount(request.path) else {
            state = .mount
            return nil
        }
        if let shop = router.controllers.storefront, StorefrontController.isMeant(by: request) {
            if !hasLookedForPage {
                hasLookedForPage = true
                refusal = router.admission.refusal(byAddress: request, nil)
                if refusal == nil, let page = shop.cachedPage(for: request, router) { return .respond(page) }
            }
            return isInTask ? .perform(.storefront(shop, refusal: refusal)) : .needsTask(onLoop: false)
        }
        guard let site = router.controllers.site, site.isMeant(by: request) else {
            state = .mount
            return nil
        }
        if let page = site.answer(request) { return .respond(page) }
        return isInTask ? .perform(.page(site)) : .needsTask(onLoop: false)
    }

    /// Takes the mount off the path. Paths outside of it have their own routes.
    private mutating func mount() -> Action? {
        guard let path = router.mount.stripped(from: request.path) else {
            route = RouteTable.outside.route(request.method, request.path)
            guard route != nil else { return .respond(router.guidance.outside(request.path)) }
            principal = .of(network: request.network)
            state = .handler
            return nil
        }
        request.path = path
        if path.isEmpty {
            return .respond(router.admission.refusal(byAddress: request, nil) ?? router.guidance.atMount)
        }
        route = RouteTable.mounted.route(request.method, path)
        guard !RouteTable.needsNoKeys(path, route) else {
            state = .keyless
            return nil
        }
        request.isCounted = true
        state = .tunnel
        return nil
    }

    /// A route that needs no keys. Rate limits do not count the requests of load balancers and payment providers.
    private mutating func keyless() -> Action? {
        if route?.access != .anyone { route = nil }
        if route?.tag != .system, let refusal = router.admission.refusal(byAddress: request, nil) {
            return .respond(refusal)
        }
        guard route != nil else {
            state = .brokenLink
            return nil
        }
        state = .handler
        if let action = plainDownload() { return action }
        principal = .of(network: request.network)
        return nil
    }

    /// Takes credentials and method out of a body that carries them.
    private mutating func tunnel() throws(ParseError) -> Action? {
        // `open` finds nothing in an empty POST, which is too rare for a rule of its own.
        let mayBeTunnelled = request.body.isEmpty ? request.method == .post : !router.tunnel.changesNothing(in: request)
        if mayBeTunnelled {
            guard isInTask else { return .needsTask(onLoop: false) }
            if try router.tunnel.open(&request) { route = RouteTable.mounted.route(request.method, request.path) }
        }
        state = .keys
        return nil
    }

    /// The keys identify the app, and the operator. Rate limits count requests with wrong keys, too.
    private mutating func keys() -> Action? {
        let admitted = router.principals.admit(request)
        if let refusal = router.admission.refusal(byAddress: request, admitted) { return .respond(refusal) }
        guard let client = admitted else { return .respond(router.guidance.refusal(ofKeys: request)) }
        principal = client
        state = .session
        return nil
    }

    /// The session identifies the user.
    private mutating func session() -> Action? {
        if route?.ignoresSession != true {
            guard let cached = router.principals.cachedSignIn(principal, request.credentials) else {
                return isInTask ? .perform(.signIn) : .needsTask(onLoop: false)
            }
            principal = cached
        }
        state = .admission
        return nil
    }

    /// The read-only key, the routes that are open to clients, and the rate limits by user.
    private mutating func admission() -> Action? {
        if let refusal = router.admission.refusal(to: request, principal) { return .respond(refusal) }
        state = .viewer
        return nil
    }

    /// An operator may read objects as another user.
    private mutating func viewer() -> Action? {
        if request.credentials.asUser != nil { return isInTask ? .perform(.view) : .needsTask(onLoop: false) }
        state = .deduplication
        return nil
    }

    /// Stops a repeated request. Its `Idempotency-Key` identifies it, or without one its `X-Parse-Request-Id`.
    private mutating func deduplication() throws(ParseError) -> Action? {
        if route != nil, router.admission.mayBeKeyed(request) {
            guard isInTask else { return .needsTask(onLoop: false) }
            if let write = try router.admission.keyedWrite(of: request, for: principal) {
                return .perform(.claimKey(write))
            }
        }
        if router.admission.mayHaveRequestId(request) {
            guard isInTask else { return .needsTask(onLoop: false) }
            if let id = try router.admission.deduplicationKey(of: request) { return .perform(.claim(id)) }
        }
        state = .route
        return nil
    }

    /// Checks the route, and returns the step that runs its handler.
    private func handler() throws(ParseError) -> Action {
        guard isInTask else { return .needsTask(onLoop: false) }
        switch try router.call(request, route, principal) {
        case .call(let call): return .perform(.route(call))
        case .refused(let answer): return .respond(answer)
        }
    }
}
