import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import ParseProtocol
import Synchronization

/// HTTP in, HTTP out: turns each request into a `ParseRequest` and the answer back into bytes and headers.
///
/// A class, because every connection has it at hand.
final class HTTPFront: Sendable {
    let router: ParseRouter
    let configuration: GatewayConfiguration
    let bodies: BodyReader
    let turns: LargeBodyTurns
    let answers: ByteBudget
    let traffic: BusTraffic
    let lookedReads = LookedReads()
    let date = HTTPDate()
    /// The heads of usual answers; those for browsers where the same is said to all of them.
    let heads: (usual: AnswerHeads, inBrowsers: AnswerHeads?)
    let files: ReadyFiles
    /// The beginnings of paths of objects by the name of their class, and of events.
    let changePaths: [[UInt8]]
    /// The beginnings of paths of files that were uploaded.
    let filePaths: [[UInt8]]
    private let logger: Logger

    init(
        router: ParseRouter, configuration: GatewayConfiguration, bodies: BodyReader, turns: LargeBodyTurns,
        answers: ByteBudget, traffic: BusTraffic, logger: Logger
    ) {
        self.router = router
        self.configuration = configuration
        self.bodies = bodies
        self.turns = turns
        self.answers = answers
        self.traffic = traffic
        let origins = configuration.admission.origins
        heads = (
            Self.heads(origin: nil, origins), origins.isForAll ? Self.heads(origin: "null", origins) : nil
        )
        files = ReadyFiles(router.controllers.site?.byPath ?? [:], fields: Self.headers(origin: nil, origins))
        let mounts = [configuration.mount.map { "/\($0)" }.joined(), "/1"]
        changePaths = mounts.flatMap { mount in ["classes", "events"].map { Array("\(mount)/\($0)/".utf8) } }
        filePaths = mounts.map { Array("\($0)/files/\(configuration.applicationId)/".utf8) }
        self.logger = logger
    }

    /// The answer to one request of a connection.
    /// - Throws: `HTTPParserError` when the rest of the request is no HTTP, which the server answers and ends the
    ///   connection.
    func response(to request: Request, over connection: any Channel) async throws(HTTPParserError) -> Response {
        do {
            return try await respond(to: request, over: connection)
        } catch let error as HTTPParserError {
            throw error
        } catch {
            logger.debug("A request ended without an answer.", metadata: ["error": "\(error)"])
            return Response(status: .internalServerError, headers: [.date: date.text])
        }
    }

    private func respond(to request: Request, over connection: any Channel) async throws -> Response {
        if request.method == .options { return preflight(request) }
        let requestId = RequestIds.next()
        let start = ContinuousClock.now
        let answer: ParseResponse
        var hold: ByteHold?
        do {
            var parsed = try parse(request.head, request.uri, from: connection.remoteAddress, requestId: requestId)
            parsed.looked = lookedReads.take(request.head)
            // One that was begun on the way of plain reads goes on with the memory that it has.
            hold =
                parsed.looked?.hold
                ?? answers.hold(for: .init(network: parsed.network, isKnown: false), over: connection)
            answer = try await AnswerHold.$current.withValue(hold) { try await self.answer(request, parsed) }
        } catch let error as ParseError {
            answer = ParseResponse(error)
        } catch is BodyTooLarge {
            answer = ParseResponse(
                status: 413,
                body: ParseError(
                    .objectTooLarge, "The body is larger than \(configuration.bodyBytesMax) bytes."
                ).body.serialized)
        } catch is BodyReader.Interrupted {
            answer = ParseResponse(ParseError(.invalidJSON, "The body is not complete."))
        } catch is TooManyHeaders {
            answer = ParseResponse(
                status: 431,
                body: ParseError(.objectTooLarge, "The request has too many or too long headers.").body.serialized)
        }
        log(answer.status, to: request.head, path: request.uri.path, requestId: requestId, since: start)
        let (head, body) = self.head(of: answer, to: request.head, requestId: requestId)
        if head.status == .notModified { return Response(status: head.status, headers: head.headerFields) }
        let response = Response(
            status: head.status, headers: head.headerFields,
            body: answer.stream ?? answer.final.map { .whole($0.buffer) }
                ?? AnswerWriter.responseBody(body, hold, configuration.capacity))
        return request.method == .head ? response.withoutBody : response
    }

    /// Counts the answer by its time; logs what failed, and every request where that is asked for.
    func log(
        _ status: Int, to request: HTTPRequest, path: String, requestId: String, since start: ContinuousClock.Instant
    ) {
        router.meter.times.record(.init(status: status), since: start)
        guard status >= 500 || configuration.logsRequests else { return }
        // 503 is an answer under load or while a service restarts, 500 is a fault. Query strings may hold secrets.
        logger.log(
            level: status == 500 ? .error : .info,
            status >= 500 ? "A request failed." : "A request was answered.",
            metadata: [
                "request.id": "\(requestId)", "http.path": "\(path)", "http.status": "\(status)",
                "http.method": "\(request.method.rawValue)",
                "http.milliseconds": "\(((ContinuousClock.now - start) / .microseconds(100)).rounded() / 10)",
            ])
    }

    /// Whether a request has no more and no longer headers than are taken.
    static func areFew(_ headers: HTTPFields) -> Bool {
        headers.count <= headersMax
            && headers.reduce(0, { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }) <= headerBytesMax
    }

    /// Everything of a request but its body.
    /// - Parameter peer: the other end of the connection, which may be a proxy.
    func parse(
        _ request: HTTPRequest, _ uri: URI, from peer: SocketAddress?, requestId: String
    ) throws -> ParseRequest {
        let headers = request.headerFields
        guard Self.areFew(headers) else { throw TooManyHeaders() }
        let isHead = request.method == .head
        guard let method = isHead ? .get : ParseRequest.Method(rawValue: request.method.rawValue) else {
            throw ParseError(.commandUnavailable, "The method \(request.method.rawValue.prefix(16)) is not supported.")
        }
        var parsed = ParseRequest(
            method: method, path: try ParseRequest.path(uri.path), requestId: requestId,
            clientAddress: ClientAddress.find(
                in: headers, from: peer, proxies: configuration.admission.trustedProxies))
        parsed.credentials = Credentials(headers: headers)
        guard parsed.credentials.installationId.map({ $0.utf8.count <= Self.installationIdBytesMax }) ?? true else {
            throw ParseError(
                .invalidInstallationId,
                "X-Parse-Installation-Id has at most \(Self.installationIdBytesMax) bytes.")
        }
        parsed.query = uri.query
        parsed.headers = headers
        parsed.isHead = isHead
        return parsed
    }

    private func answer(_ request: Request, _ parsed: ParseRequest) async throws -> ParseResponse {
        let isUpload = router.isUpload(parsed)
        // GET and DELETE carry no body that means anything, except to clients that say so.
        guard
            isUpload || parsed.method == .post || parsed.method == .put || request.headers[.contentLength] != nil
                || request.headers[.transferEncoding] != nil
        else { return await router.answer(parsed) }
        var sender = LargeBodyTurns.Sender.stranger
        if !BodyReader.isSmall(request.headers) {
            switch await router.reception(of: parsed) {
            case .refused(let answer): return answer
            case .read(let known): sender = known
            }
        }
        let isTunnelled = parsed.credentials.applicationId == nil
        let fileBytesMax = configuration.fileBytesMax
        let body = try await bodies.read(
            request,
            bytesMax: !isUpload
                ? configuration.bodyBytesMax
                : isTunnelled ? fileBytesMax / 3 * 4 + BodyReader.tunnelBytesMax : fileBytesMax,
            for: .init(network: parsed.network, isKnown: sender != .stranger),
            tooLarge: isUpload ? ParseError.fileTooLarge(fileBytesMax) : BodyTooLarge())
        defer { withExtendedLifetime(body.hold) {} }
        // A file as such is never looked into.
        if !isUpload || isTunnelled { try await turns.turn(of: parsed.network, sender, body.bytes) }
        var parsed = parsed
        parsed.body = body.bytes
        return await router.answer(parsed)
    }

    /// Status and headers of an answer, and its body as it leaves: with the URLs of its files, or empty for a client
    /// that has it already. A final body is the answer's own.
    func head(
        of answer: ParseResponse, to request: HTTPRequest, requestId: String
    ) -> (head: HTTPResponse, body: [UInt8]) {
        let asked = request.headerFields
        var headers = Self.headers(origin: asked[.origin], configuration.admission.origins)
        headers.append(HTTPField(name: .date, value: date.text))
        headers.append(HTTPField(name: Self.requestIdName, value: requestId))
        if let location = answer.location { headers[.location] = location }
        if let seconds = answer.retryAfterSeconds { headers[.retryAfter] = String(seconds) }
        for field in answer.headers { headers[field.name] = field.value }
        let isJSON = answer.headers[.contentType] == nil
        let isLinked = answer.final != nil || !isJSON
        let body = isLinked ? answer.body : configuration.fileLinks.linked(answer.body)
        // A client that has the answer already is spared it. What a POST reads for a client (a tunnelled GET) is none
        // of HTTP's caches'.
        if answer.status == 200, request.method == .get || request.method == .head, answer.stream == nil, isJSON {
            let tag = answer.final?.tag ?? EntityTag.of(body)
            headers.append(HTTPField(name: .eTag, value: tag))
            headers.append(Self.cacheControl)
            headers.append(Self.vary)
            if let known = asked[.ifNoneMatch], EntityTag.isNamed(tag, in: known) {
                headers[.contentType] = nil
                return (HTTPResponse(status: .notModified, headerFields: headers), [])
            }
        }
        return (HTTPResponse(status: .init(code: answer.status), headerFields: headers), body)
    }

    /// The headers that every answer to somebody on a page of this origin has.
    private static func headers(origin: String?, _ rule: OriginRule) -> HTTPFields {
        var headers = commonHeaders
        rule.apply(to: &headers, origin: origin)
        // PARSE_PROTOCOL 1.3 has these on every answer. Only browsers, which say where they are, look at them.
        if origin != nil {
            headers[.accessControlAllowMethods] = allowedMethods
            headers[.accessControlAllowHeaders] = allowedHeaders
        }
        return headers
    }

    /// The heads of usual answers to somebody on a page of this origin.
    private static func heads(origin: String?, _ rule: OriginRule) -> AnswerHeads {
        AnswerHeads(headers(origin: origin, rule), ofReads: [cacheControl, vary])
    }

    private func preflight(_ request: Request) -> Response {
        var headers = Self.preflightHeaders
        headers.append(HTTPField(name: .date, value: date.text))
        configuration.admission.origins.apply(to: &headers, origin: request.headers[.origin])
        return Response(status: .ok, headers: headers)
    }

    private struct TooManyHeaders: Error {}
    private struct BodyTooLarge: Error {}

    /// Browsers and proxies together send about thirty.
    private static let headersMax = 100
    /// Cookies of other sites on the same host are the largest that is seen in earnest.
    private static let headerBytesMax = 32 << 10
    /// A UUID has 36; it is kept with every session.
    private static let installationIdBytesMax = 200
    /// A device may keep an answer and must ask each time whether it still holds; nothing between may keep what one
    /// user sees.
    private static let cacheControl = HTTPField(name: .cacheControl, value: "private, no-cache")
    /// The headers that decide about an answer beside the URL: they say who asks.
    private static let vary = HTTPField(
        name: .vary, value: "X-Parse-Application-Id, X-Parse-Session-Token, X-Parse-Master-Key, Authorization")

    static let requestIdName = headerName("X-Satchel-Request-Id")
    private static let contentTypeOptionsName = headerName("X-Content-Type-Options")

    private static let commonHeaders: HTTPFields = [
        .contentType: "application/json; charset=utf-8",
        contentTypeOptionsName: "nosniff",
        .accessControlExposeHeaders: exposedHeaders,
    ]

    private static let exposedHeaders = "X-Parse-Job-Status-Id, X-Parse-Push-Status-Id, ETag"
    private static let allowedMethods = "GET,PUT,POST,DELETE,OPTIONS"
    /// The headers of PARSE_PROTOCOL section 1.3, those of the other kinds of keys, and what Sentry's browser SDK asks
    /// for.
    private static let allowedHeaders =
        "X-Parse-Master-Key, X-Parse-REST-API-Key, X-Parse-Javascript-Key, X-Parse-Application-Id, "
        + "X-Parse-Client-Version, "
        + "X-Parse-Session-Token, X-Requested-With, X-Parse-Revocable-Session, X-Parse-Request-Id, "
        + "X-Parse-Installation-Id, X-Parse-Client-Key, X-Parse-Windows-Key, X-Parse-Maintenance-Key, "
        + "X-Parse-Cloud-Context, X-Parse-Upload-Mode, X-Parse-File-Metadata, X-Parse-File-Tags, "
        + "Content-Type, Pragma, Cache-Control, If-None-Match, "
        + "X-Sentry-Auth, Authorization, Sentry-Trace, Baggage, Content-Encoding"

    private static let preflightHeaders: HTTPFields = [
        .accessControlAllowMethods: allowedMethods,
        .accessControlAllowHeaders: allowedHeaders,
        .accessControlExposeHeaders: exposedHeaders,
        .accessControlMaxAge: "86400",
        .contentLength: "0",
    ]
}

/// A header name of ours; the texts are constants that are valid names.
func headerName(_ text: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is not a header name.") }
    return name
}

/// Ids that follow a request through logs and services, and keys under which its writes are kept: unique for a
/// gateway's life and, by its start time, across restarts.
enum RequestIds {
    // With something by chance: gateways may start in the same millisecond.
    private static let prefix = String(Timestamp.now.milliseconds, radix: 36) + Names.random(3) + "-"
    private static let last = Atomic<UInt64>(0)

    static func next() -> String { prefix + String(last.wrappingAdd(1, ordering: .relaxed).newValue) }
}
