import HTTPTypes
import Logging
import MessageBus
import NIOCore
import NIOHTTP1
import ParseProtocol
import ServiceContextModule
import Synchronization

/// HTTP in, HTTP out: turns each request into a `ParseRequest`, drives its `RequestMachine`, counts the `ParseResponse`
/// and has `ResponseWriter` encode it as an HTTP response.
///
/// A class, because every connection refers to it.
final class HTTPFront: Sendable {
    let router: ParseRouter
    let configuration: GatewayConfiguration
    let bodies: BodyReader
    let bodyQueues: BodyQueues
    private let answers: ByteBudget
    let traffic: BusTraffic
    let writer: ResponseWriter
    private let shadow: Shadow?
    /// Prefixes of the paths of `/classes/…`, `/events/…` and `/users/me`.
    let objectPaths: [[UInt8]]
    /// Prefixes of the paths of uploaded files.
    let filePaths: [[UInt8]]
    private let logger: Logger

    init(
        router: ParseRouter, configuration: GatewayConfiguration, bodies: BodyReader, bodyQueues: BodyQueues,
        answers: ByteBudget, traffic: BusTraffic, shadow: Shadow?, logger: Logger
    ) {
        self.router = router
        self.configuration = configuration
        self.bodies = bodies
        self.bodyQueues = bodyQueues
        self.answers = answers
        self.traffic = traffic
        self.shadow = shadow
        writer = ResponseWriter(configuration)
        let mounts = [configuration.mount.map { "/\($0)" }.joined(), "/1"]
        objectPaths = mounts.flatMap { mount in
            ["classes/", "events/", "users/me"].map { Array("\(mount)/\($0)".utf8) }
        }
        filePaths = mounts.map { Array("\($0)/files/\(configuration.applicationId)/".utf8) }
        self.logger = logger
    }

    // MARK: - In a task

    /// Answers a request in a task, which also reads its body.
    /// - Throws: `HTTPParserError` when the rest of the request is invalid HTTP: the server answers 400 and closes the
    ///   connection.
    func response(
        to request: Request, over connection: any Channel
    ) async throws(HTTPParserError) -> OutgoingResponse {
        if request.method == .options { return .response(writer.preflight(request.head)) }
        var exchange = begin(request.head, request.uri, over: connection, start: .now)
        do {
            let answer = try await self.answer(request, &exchange)
            let bytesMax = Self.mayBypassHandlers(request.head) ? CapacitySettings.smallBytes : nil
            return outgoing(answer, to: exchange, bytesMax: bytesMax)
        } catch let error as HTTPParserError {
            count(ParseResponse(status: 400, body: []), to: exchange)
            throw error
        } catch {
            logger.error(
                "The gateway could not handle a request.",
                metadata: ["request.id": "\(exchange.requestId)", "error": "\(error)"])
            return outgoing(ParseResponse(.internalError), to: exchange, bytesMax: nil)
        }
    }

    /// Whether a response may bypass the connection's handlers: not for `HEAD`, whose response has no body, and not for
    /// a `Connection` header other than keep-alive, which `OldClientHandler` sets for HTTP/1.0.
    private static func mayBypassHandlers(_ request: HTTPRequest) -> Bool {
        guard request.method != .head else { return false }
        return request.headerFields[.connection].map { $0.lowercased() == "keep-alive" } ?? true
    }

    private func answer(_ request: Request, _ exchange: inout RequestExchange) async throws -> ParseResponse {
        do {
            return try await readBodyAndDrive(request, &exchange)
        } catch {
            // The client's time; only a body throws.
            exchange.bodyTime = ContinuousClock.now - exchange.start
            exchange.machine.request.call.times?.bodyEnded()
            guard let answer = refusal(of: error) else { throw error }
            let request = exchange.machine.request
            guard let shop = router.controllers.storefront, StorefrontController.isMeant(by: request) else {
                return answer
            }
            return await shop.refused(answer, request)
        }
    }

    /// The response to a request that the event loop began.
    func complete(_ exchange: RequestExchange) async -> OutgoingResponse {
        var exchange = exchange
        let answer = await drive(&exchange.machine)
        return outgoing(answer, to: exchange, bytesMax: CapacitySettings.smallBytes)
    }

    /// Drives the machine to its end, under the request's budget.
    func drive(_ machine: inout RequestMachine) async -> ParseResponse {
        let context = machine.request.call.requestTrace.serviceContext
        return await ServiceContext.$current.withValue(context) { await driven(&machine) }
    }

    private func driven(_ machine: inout RequestMachine) async -> ParseResponse {
        // If the event loop already asked a service, the request has a budget.
        let budget = machine.request.call.budget ?? newBudget(for: machine.request)
        machine.enterTask()
        machine.setBudget(budget)
        var action = machine.next()
        var renewal: Task<Void, Never>?
        defer { renewal?.cancel() }
        while true {
            // The master and maintenance keys have no budget: exports and imports are long. The store limits queries.
            if machine.principal.isPrivileged { budget.lift() }
            switch action {
            case .perform(let step):
                action = await perform(step, of: &machine)
                guard renewal == nil, let write = machine.keyedWrite else { continue }
                renewal = router.keyedWrites.renewal(
                    of: write, for: machine.principal, trace: machine.request.requestId)
            case .respond(let answer):
                if let write = machine.keyedWrite {
                    renewal?.cancel()
                    return await router.keyedWrites.finish(
                        write, router.guidance.completed(answer, to: machine.request), for: machine.principal,
                        trace: machine.request.requestId)
                }
                if answer.status == 503, let id = machine.claimedId {
                    await router.admission.release(id, in: machine.request.call)
                }
                return answer
            case .ask(let message):
                let result = await router.controllers.objects.services.reply(
                    to: message, for: machine.principal, in: machine.request.call)
                action = machine.resume(with: result)
            // Cannot happen in a task.
            case .needsTask: return ParseResponse(.internalError)
            }
        }
    }

    /// The budget of a request whose body has arrived.
    func newBudget(for request: ParseRequest) -> RequestBudget {
        let budget = RequestBudget(microseconds: configuration.requestBudgetMicroseconds)
        budget.use(jsonBytes: request.body.count)
        return budget
    }

    private func perform(_ step: RequestMachine.Step, of machine: inout RequestMachine) async -> RequestMachine.Action {
        let request = machine.request
        do throws(ParseError) {
            switch step {
            case .page(let site):
                return .respond(await site.fetchedAnswer(request, from: router.controllers.objects.services.broker))
            case .storefront(let shop, let refusal):
                return .respond(await shop.answer(request, router, refusal: refusal))
            case .signIn:
                let principal = try await router.signedIn(machine.principal, request, machine.route)
                return machine.signedIn(principal)
            case .view:
                let viewer = try await router.viewer(of: request, for: machine.principal)
                return machine.viewed(by: viewer)
            case .claim(let id):
                try await router.admission.claim(id, in: request.call)
                return machine.claimed(id)
            case .claimKey(let write):
                let claim = try await router.keyedWrites.claimKey(
                    of: write, for: machine.principal, trace: request.requestId)
                switch claim {
                case .run(let keys): return machine.keyClaimed(write, keys)
                case .answered(let answer): return .respond(answer)
                }
            case .brokenLink: return .respond(await router.controllers.pages.answer(request))
            case .route(let call): return .respond(try await router.run(call))
            }
        } catch {
            return .respond(router.response(to: error))
        }
    }

    // MARK: - The exchange

    /// Begins a request: parses everything but its body. A head that cannot be parsed gets a machine that refuses it.
    func begin(
        _ head: HTTPRequest, _ uri: URI, over connection: any Channel, start: ContinuousClock.Instant
    ) -> RequestExchange {
        let requestId = RequestIds.next()
        var machine: RequestMachine
        do {
            let parsed = observed(try parse(head, uri, from: connection.remoteAddress, requestId: requestId))
            machine = RequestMachine(router, consume parsed)
        } catch {
            machine = RequestMachine(
                router, refusing: requestId, with: refusal(of: error) ?? ParseResponse(.internalError))
        }
        let hold = answers.hold(for: .init(network: machine.request.network, isAuthenticated: false), over: connection)
        machine.setHold(hold)
        return RequestExchange(head: head, path: uri.path, start: start, hold: hold, machine: consume machine)
    }

    /// Counts a response and encodes it.
    /// - Parameter bytesMax: as for `ResponseWriter.outgoing`.
    func outgoing(_ answer: ParseResponse, to exchange: RequestExchange, bytesMax: Int?) -> OutgoingResponse {
        var answer = router.guidance.completed(answer, to: exchange.machine.request)
        count(answer, to: exchange)
        answer.stream = answer.stream.map { logged($0, of: exchange) }
        return writer.outgoing(
            answer, to: exchange.head, requestId: exchange.requestId, exchange.hold, bytesMax: bytesMax,
            compresses: compresses(answer, to: exchange))
    }

    /// Logs the error that breaks a response off, which its status does not show. A client that goes or stalls is not
    /// logged.
    private func logged(_ body: ResponseBody, of exchange: RequestExchange) -> ResponseBody {
        guard case .stream(let length, let write) = body else { return body }
        let (logger, path, requestId) = (logger, exchange.path, exchange.requestId)
        return .stream(length: length) { writer in
            do {
                try await write(writer)
            } catch let error as ParseError where error.code != .connectionFailed && writer.isConnected {
                logger.warning(
                    "A response broke off.",
                    metadata: [
                        "request.id": "\(requestId)", "http.path": "\(path)",
                        "error": "\(error.code.rawValue): \(error.message)",
                    ])
                throw error
            }
        }
    }

    private func compresses(_ answer: ParseResponse, to exchange: RequestExchange) -> Bool {
        ResponseCompression.shouldCompress(answer, to: exchange, router.controllers.functions)
    }

    /// Whether compressing the response would block an event loop too long.
    func compressesSlowly(_ answer: ParseResponse, to exchange: RequestExchange) -> Bool {
        answer.bodyBytes > ResponseCompression.loopBytesMax && answer.final?.gzip?.isCompressed != true
            && compresses(answer, to: exchange)
    }

    /// Adds the response to the usage statistics and the response times, logs it, and offers it to the shadow mode.
    func count(_ answer: ParseResponse, to exchange: RequestExchange) {
        shadow?.offer(exchange.machine, answer)
        if exchange.machine.request.isCounted { router.meter.count(exchange.machine.request, answer) }
        let now = ContinuousClock.now
        router.meter.times.record(
            answer.status, exchange.machine.request.method, exchange.machine.route, isPage: exchange.machine.isAtPage,
            since: exchange.start + exchange.bodyTime, trace: exchange.requestId, now: now)
        log(answer.status, to: exchange.head, path: exchange.path, requestId: exchange.requestId, since: exchange.start)
        if let times = exchange.machine.request.call.times { noteIfSlow(answer.status, exchange, times, now) }
        if let span = exchange.machine.request.call.span, span.context.isSampled { end(span, answer.status, exchange) }
    }

    /// Gives a request its span and its times, where the settings ask for them.
    private func observed(_ request: consuming ParseRequest) -> ParseRequest {
        // `span(of:)` copies the request, which most requests do not need.
        if configuration.start.traces != nil || request.headers.contains(Self.traceParentName) {
            request.call.span = span(of: request)
        }
        if configuration.start.slowAfter != nil { request.call.times = RequestTimes() }
        return request
    }

    private func span(of request: ParseRequest) -> RequestSpan? {
        let traces = configuration.start.traces
        return RequestSpan(
            header: request.headers[Self.traceParentName], samples: traces.map { traces in { traces.samples } },
            honoursSampledFlag: { router.principals.admit(request)?.isPrivileged == true })
    }

    private func end(_ span: RequestSpan, _ status: Int, _ exchange: RequestExchange) {
        let request = exchange.machine.request
        let route = exchange.machine.route?.path ?? ""
        let method = request.method.rawValue
        Tracing.spans?.add(
            TraceSpan(
                "\(method) \(route)", .server, span.context, of: span.parent,
                nanoseconds: UInt64(max(0, (ContinuousClock.now - exchange.start) / .nanoseconds(1))),
                [
                    "http.request.method": .string(method), "http.route": .string(route),
                    "http.response.status_code": .int(Int64(status)), "request.id": .string(request.requestId),
                ], isError: status >= 500))
    }

    /// Logs a slow request. The time in which the client sent the body does not count.
    private func noteIfSlow(
        _ status: Int, _ exchange: RequestExchange, _ times: RequestTimes, _ now: ContinuousClock.Instant
    ) {
        let time = times.time(at: now)
        guard let limit = configuration.start.slowAfter, time >= limit, time - times.bodyTime >= limit else { return }
        let (serviceTime, calls) = times.serviceTime
        let request = exchange.machine.request
        logger.notice(
            "A request was slow.",
            metadata: [
                "request.id": "\(request.requestId)", "http.method": "\(request.method.rawValue)",
                "http.route": "\(exchange.machine.route?.path ?? "")", "http.status": "\(status)",
                "http.milliseconds": "\(time.milliseconds)",
                "body.milliseconds": "\(times.bodyTime.milliseconds)",
                "services.milliseconds": "\(serviceTime.milliseconds)", "services.calls": "\(calls)",
            ])
    }

    static let traceParentName = headerName(TraceContext.header)

    /// Records the response to a request for a file of the pages, which is not in the usage statistics.
    func countFile(
        _ status: Int, to request: HTTPRequest, path: String, requestId: String, since start: ContinuousClock.Instant
    ) {
        router.meter.times.record(status, .get, nil, isPage: true, since: start, trace: requestId)
        log(status, to: request, path: path, requestId: requestId, since: start)
    }

    /// Logs failures, and every request where the operator wants that.
    private func log(
        _ status: Int, to request: HTTPRequest, path: String, requestId: String, since start: ContinuousClock.Instant
    ) {
        guard status >= 500 || configuration.logsRequests else { return }
        // 503 occurs under load and while a service restarts; 500 is a fault. The query is left out: it may hold
        // secrets.
        logger.log(
            level: status == 500 ? .error : .info,
            status >= 500 ? "A request failed." : "A request was answered.",
            metadata: [
                "request.id": "\(requestId)", "http.path": "\(path)", "http.status": "\(status)",
                "http.method": "\(request.method.rawValue)",
                "http.milliseconds": "\(((ContinuousClock.now - start) / .microseconds(100)).rounded() / 10)",
            ])
    }

    // MARK: - Parsing

    /// Parses a request without its body.
    /// - Parameter peer: the other end of the connection, which may be a proxy.
    private func parse(
        _ request: HTTPRequest, _ uri: URI, from peer: SocketAddress?, requestId: String
    ) throws -> ParseRequest {
        let headers = request.headerFields
        guard Self.isWithinHeaderLimits(headers) else { throw TooManyHeaders() }
        let isHead = request.method == .head
        guard let method = isHead ? .get : ParseRequest.Method(rawValue: request.method.rawValue) else {
            throw ParseError(
                .commandUnavailable,
                "The method \(request.method.rawValue.prefix(16)) is not supported; PUT changes fields of an object.")
        }
        var parsed = ParseRequest(
            method: method, path: try ParseRequest.path(uri.path), call: CallContext(trace: requestId),
            clientAddress: ClientAddress.find(
                in: headers, from: peer, proxies: configuration.admission.trustedProxies))
        parsed.credentials = Credentials(headers: headers)
        guard parsed.credentials.installationId.map({ $0.utf8.count <= Self.installationIdBytesMax }) ?? true else {
            throw ParseError(
                .invalidInstallationId,
                "X-Parse-Installation-Id must not be longer than \(Self.installationIdBytesMax) bytes.")
        }
        parsed.query = uri.query
        parsed.headers = headers
        parsed.host = request.authority
        parsed.isHead = isHead
        return parsed
    }

    static func isWithinHeaderLimits(_ headers: HTTPFields) -> Bool {
        headers.count <= headersMax
            && headers.reduce(0, { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }) <= headerBytesMax
    }

    /// The response to a request whose head or body cannot be used; nil for an error that ends the connection.
    private func refusal(of error: any Error) -> ParseResponse? {
        switch error {
        case let error as ParseError: ParseResponse(error)
        case is BodyTooLarge:
            ParseResponse(
                status: 413,
                body: ParseError(
                    .objectTooLarge, "The body is larger than \(configuration.bodyBytesMax) bytes."
                ).body.serialized)
        // An `IOError` is the failure of the client's connection.
        case is BodyReader.Interrupted, is IOError: ParseResponse(ParseError(.invalidJSON, "The body is not complete."))
        case is TooManyHeaders:
            ParseResponse(
                status: 431,
                body: ParseError(.objectTooLarge, "The request has too many or too long headers.").body.serialized)
        default: nil
        }
    }

    private struct TooManyHeaders: Error {}
    struct BodyTooLarge: Error {}

    /// Browsers and proxies together send about thirty.
    private static let headersMax = 100
    /// The largest legitimate headers are cookies that other sites on the same host set.
    private static let headerBytesMax = 32 << 10
    /// Limits the id that is stored with every session. SDKs send a UUID, which has 36 characters.
    private static let installationIdBytesMax = 200
}

/// One request from its parsed head to its response.
struct RequestExchange: Sendable {
    let head: HTTPRequest
    /// As the client wrote it, for the log.
    let path: String
    /// The time at which a small request arrived, with its body if it has one; for any other request, at which its task
    /// began.
    let start: ContinuousClock.Instant
    /// The request's share of the memory for large responses.
    let hold: ByteHold
    var machine: RequestMachine
    /// The time in which the client sent the body; not the gateway's.
    var bodyTime = Duration.zero

    var requestId: String { machine.request.requestId }
}

/// The name of a header; the texts are constants and valid names.
func headerName(_ text: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is not a header name.") }
    return name
}

/// Ids of requests in logs and messages, and idempotency keys of their writes. A counter makes them unique in one run,
/// random characters make them unique among gateways and restarts.
///
/// A String stores up to 15 bytes without an allocation, and each id is copied many times on its way through the suite:
/// 15 bytes are enough for the first two billion ids of a run.
enum RequestIds {
    private static let prefix = Names.random(9)
    /// Begins at 36^5, with six digits. Ids of one width are in order, so a service appends its stored replies, which
    /// have these keys, at the end of their index.
    private static let last = Atomic<UInt64>(60_466_175)

    static func next() -> String {
        prefix + String(last.wrappingAdd(1, ordering: .relaxed).newValue, radix: 36)
    }
}
