import HTTPTypes
import NIOCore
import ParseProtocol

/// Writes the head of every response to a request of the protocol, and puts the body into its final form.
///
/// Common responses get a head that was encoded at the start (`ResponseHeads`) and go out as bytes. All others become a
/// `Response`, which the connection's handlers encode. Both have the same fields.
final class ResponseWriter: Sendable {
    private let configuration: GatewayConfiguration
    private let date = HTTPDate()
    /// Encoded heads for clients without an origin, and for browsers where every origin gets the same fields.
    private let heads: (usual: ResponseHeads, inBrowsers: ResponseHeads?)

    /// - Parameter configuration: the origins that are allowed, and the URLs of files.
    init(_ configuration: GatewayConfiguration) {
        self.configuration = configuration
        let origins = configuration.admission.origins
        heads = (
            Self.heads(origin: nil, origins), origins.isForAll ? Self.heads(origin: "null", origins) : nil
        )
    }

    // MARK: - Encoded by the connection's handlers

    /// A response for a task to send. A large body goes out in parts.
    /// - Parameters:
    ///   - hold: the memory of the answer, which a large body keeps until the client has it.
    ///   - packs: whether the body is compressed (`Packing`).
    func response(
        _ answer: ParseResponse, to request: HTTPRequest, requestId: String, _ hold: ByteHold?, packs: Bool
    ) -> Response {
        let (head, body, shared) = self.head(of: answer, to: request, requestId: requestId, packs: packs)
        if head.status == .notModified { return Response(status: head.status, headers: head.headerFields) }
        let response = Response(
            status: head.status, headers: head.headerFields,
            body: answer.stream ?? shared.map { .whole($0) }
                ?? AnswerWriter.responseBody(body, hold, configuration.capacity))
        return request.method == .head ? response.withoutBody : response
    }

    /// The response to a CORS preflight.
    func preflight(_ request: HTTPRequest) -> Response {
        var headers = Self.preflightHeaders
        headers.append(HTTPField(name: .date, value: date.text))
        configuration.admission.origins.apply(to: &headers, origin: request.headerFields[.origin])
        return Response(status: .ok, headers: headers)
    }

    /// The response to a request that ended without an answer.
    func failure(requestId: String) -> Response {
        Response(status: .internalServerError, headers: [.date: date.text, Self.requestIdName: requestId])
    }

    /// Status and headers of a response, and its body with the URLs of its files: `shared` for an answer with a final
    /// body, else `body`. A client whose copy is current gets neither.
    private func head(
        of answer: ParseResponse, to request: HTTPRequest, requestId: String, packs: Bool
    ) -> (head: HTTPResponse, body: [UInt8], shared: ByteBuffer?) {
        let asked = request.headerFields
        var headers = Self.headers(origin: asked[.origin], configuration.admission.origins)
        headers.append(HTTPField(name: .date, value: date.text))
        headers.append(HTTPField(name: Self.requestIdName, value: requestId))
        if let location = answer.location { headers[.location] = location }
        if let seconds = answer.retryAfterSeconds { headers[.retryAfter] = String(seconds) }
        for field in answer.headers where field.name != .setCookie { headers[field.name] = field.value }
        // A page may set two cookies.
        headers.append(contentsOf: answer.headers[fields: .setCookie])
        let isJSON = answer.headers[.contentType] == nil
        let isLinked = answer.final != nil || !isJSON
        var body = isLinked ? answer.body : configuration.fileLinks.linked(answer.body)
        // Responses to POST have no tag, also those to a tunnelled GET: HTTP caches do not store them.
        if answer.status == 200, request.method == .get || request.method == .head, answer.stream == nil,
            isJSON || answer.page != nil
        {
            let tag = answer.final?.tag ?? EntityTag.of(body)
            headers.append(HTTPField(name: .eTag, value: packs ? Packing.weak(tag) : tag))
            if isJSON {
                headers.append(Self.cacheControl)
                headers.append(Self.vary)
            }
            if EntityTag.isNamed(tag, in: asked[.ifNoneMatch]) {
                headers[.contentType] = nil
                return (HTTPResponse(status: .notModified, headerFields: headers), [], nil)
            }
        }
        var shared = answer.final?.buffer
        if packs, let whole = answer.final, let packed = whole.packed?.form(of: whole.buffer) {
            shared = packed
            headers[.contentEncoding] = "gzip"
        } else if packs, answer.final == nil, let packed = Packing.packed(body) {
            body = packed
            headers[.contentEncoding] = "gzip"
        }
        return (HTTPResponse(status: .init(code: answer.status), headerFields: headers), body, shared)
    }

    // MARK: - Encoded here

    /// A response to a request that the event loop began: one of HTTP/1.1 that keeps the connection, and not `HEAD`.
    /// - Parameters:
    ///   - hold: as for `response`.
    ///   - bytesMax: the largest body that is encoded here.
    ///   - packs: as for `response`.
    func outgoing(
        _ answer: ParseResponse, to request: HTTPRequest, requestId: String, _ hold: ByteHold, bytesMax: Int,
        packs: Bool
    ) -> OutgoingResponse {
        // A tunnelled GET, which is a POST, may have a final body, and may be compressed without one.
        let isRead = request.method == .get
        if isRead, answer.bodyBytes <= bytesMax, let page = answer.page, let body = answer.final,
            request.headerFields[.origin] == nil
        {
            return shared(body, to: request, page.reads, page.packedReads, requestId, packs: packs)
        }
        guard answer.bodyBytes <= bytesMax, isRead || answer.final == nil && !packs,
            let heads = heads(of: answer, to: request)
        else { return .response(response(answer, to: request, requestId: requestId, hold, packs: packs)) }
        return isRead
            ? read(answer, to: request, heads, requestId, packs: packs) : change(answer, heads, requestId)
    }

    /// A response with a body in its final form.
    /// - Parameter isKnown: whether the client's copy is current: it gets the head alone, with status 304.
    func outgoing(_ body: FinalBody, _ heads: ReadHeads, requestId: String, isKnown: Bool) -> OutgoingResponse {
        let bodyBytes = body.buffer.readableBytes
        let isJoined = !isKnown && bodyBytes <= Self.copiedBytesMax
        var buffer = ByteBuffer()
        buffer.reserveCapacity(heads.bytesMax + (isJoined ? bodyBytes : 0))
        heads.write(
            requestId: requestId, date: date.text, tag: body.tag, length: isKnown ? nil : bodyBytes, to: &buffer)
        guard isJoined else { return .bytes(buffer, more: isKnown ? nil : body.buffer) }
        buffer.writeImmutableBuffer(body.buffer)
        return .bytes(buffer, more: nil)
    }

    /// The encoded heads for an answer; nil for an answer with its own headers.
    private func heads(of answer: ParseResponse, to request: HTTPRequest) -> ResponseHeads? {
        let isUsual = answer.location == nil ? answer.status == 200 : answer.status == 201
        guard isUsual, answer.headers.isEmpty, answer.stream == nil, answer.retryAfterSeconds == nil else { return nil }
        return request.headerFields[.origin] == nil ? heads.usual : heads.inBrowsers
    }

    private func read(
        _ answer: ParseResponse, to request: HTTPRequest, _ heads: ResponseHeads, _ requestId: String, packs: Bool
    ) -> OutgoingResponse {
        if let final = answer.final {
            return shared(final, to: request, heads.reads, heads.packedReads, requestId, packs: packs)
        }
        var body = configuration.fileLinks.linked(answer.body)
        var tag = EntityTag.of(body)
        var reads = heads.reads
        let isKnown = EntityTag.isNamed(tag, in: request.headerFields[.ifNoneMatch])
        if packs {
            tag = Packing.weak(tag)
            if !isKnown, let packed = Packing.packed(body) {
                body = packed
                reads = heads.packedReads
            }
        }
        let isJoined = !isKnown && body.count <= Self.joinedBytesMax
        var buffer = ByteBuffer()
        buffer.reserveCapacity(reads.bytesMax + (isJoined ? body.count : 0))
        reads.write(
            requestId: requestId, date: date.text, tag: tag, length: isKnown ? nil : body.count, to: &buffer)
        guard isJoined else { return .bytes(buffer, more: isKnown ? nil : ByteBuffer(bytes: body)) }
        buffer.writeBytes(body)
        return .bytes(buffer, more: nil)
    }

    /// A body in its final form, or in the compressed one.
    private func shared(
        _ body: FinalBody, to request: HTTPRequest, _ reads: ReadHeads, _ packedReads: ReadHeads, _ requestId: String,
        packs: Bool
    ) -> OutgoingResponse {
        let isKnown = EntityTag.isNamed(body.tag, in: request.headerFields[.ifNoneMatch])
        guard packs else { return outgoing(body, reads, requestId: requestId, isKnown: isKnown) }
        let packed = isKnown ? nil : body.packed?.form(of: body.buffer)
        return outgoing(
            FinalBody(packed ?? body.buffer, tag: Packing.weak(body.tag)), packed == nil ? reads : packedReads,
            requestId: requestId, isKnown: isKnown)
    }

    private func change(_ answer: ParseResponse, _ heads: ResponseHeads, _ requestId: String) -> OutgoingResponse {
        let body = configuration.fileLinks.linked(answer.body)
        let isJoined = body.count <= Self.joinedBytesMax
        var buffer = ByteBuffer()
        buffer.reserveCapacity(heads.bytesMax(location: answer.location) + (isJoined ? body.count : 0))
        heads.write(
            requestId: requestId, date: date.text, location: answer.location, length: body.count, to: &buffer)
        guard isJoined else { return .bytes(buffer, more: ByteBuffer(bytes: body)) }
        buffer.writeBytes(body)
        return .bytes(buffer, more: nil)
    }

    /// The largest body of one answer that is written behind its head into one buffer. The buffer may take twice the
    /// memory for which a larger body is counted.
    private static let joinedBytesMax = 64 << 10
    /// The same for a shared body: copying a larger one takes longer than writing a second buffer.
    private static let copiedBytesMax = 4 << 10

    // MARK: - Fields

    /// The headers that every response to a page of this origin has.
    static func headers(origin: String?, _ rule: OriginRule) -> HTTPFields {
        var headers = commonHeaders
        rule.apply(to: &headers, origin: origin)
        // PARSE_PROTOCOL 1.3 has these on every answer. Only browsers, which send an origin, read them.
        if origin != nil {
            headers[.accessControlAllowMethods] = allowedMethods
            headers[.accessControlAllowHeaders] = allowedHeaders
        }
        return headers
    }

    /// The encoded heads of pages of the storefront for clients without an origin.
    /// - Parameter fields: replace those of every response.
    static func pageHeads(_ fields: HTTPFields, _ rule: OriginRule) -> PageHeads {
        var all = headers(origin: nil, rule)
        for field in fields { all[field.name] = field.value }
        return PageHeads(all)
    }

    private static func heads(origin: String?, _ rule: OriginRule) -> ResponseHeads {
        ResponseHeads(headers(origin: origin, rule), ofReads: [cacheControl, vary])
    }

    /// A device may keep an answer and must revalidate it each time; shared caches may not keep what one user sees.
    private static let cacheControl = HTTPField(name: .cacheControl, value: "private, no-cache")
    /// The request headers that decide about an answer beside the URL: they identify the caller, and choose the form.
    private static let vary = HTTPField(
        name: .vary,
        value: "X-Parse-Application-Id, X-Parse-Session-Token, X-Parse-Master-Key, Authorization, Accept-Encoding")

    static let requestIdName = headerName("X-Satchel-Request-Id")
    private static let contentTypeOptionsName = headerName("X-Content-Type-Options")

    private static let commonHeaders: HTTPFields = [
        .contentType: "application/json; charset=utf-8",
        contentTypeOptionsName: "nosniff",
        .accessControlExposeHeaders: exposedHeaders,
    ]

    private static let exposedHeaders = "X-Parse-Job-Status-Id, X-Parse-Push-Status-Id, Idempotent-Replayed, ETag"
    private static let allowedMethods = "GET,PUT,POST,DELETE,OPTIONS"
    /// The headers of PARSE_PROTOCOL section 1.3, of the other kinds of keys, and of Sentry's browser SDK.
    private static let allowedHeaders =
        "X-Parse-Master-Key, X-Parse-REST-API-Key, X-Parse-Javascript-Key, X-Parse-Application-Id, "
        + "X-Parse-Client-Version, "
        + "X-Parse-Session-Token, X-Requested-With, X-Parse-Revocable-Session, X-Parse-Request-Id, "
        + "X-Parse-Installation-Id, X-Parse-Client-Key, X-Parse-Windows-Key, X-Parse-Maintenance-Key, "
        + "X-Parse-Cloud-Context, X-Parse-Upload-Mode, X-Parse-File-Metadata, X-Parse-File-Tags, "
        + "Content-Type, Pragma, Cache-Control, If-None-Match, Idempotency-Key, "
        + "X-Sentry-Auth, Authorization, Sentry-Trace, Baggage, Traceparent, Content-Encoding"

    private static let preflightHeaders: HTTPFields = [
        .accessControlAllowMethods: allowedMethods,
        .accessControlAllowHeaders: allowedHeaders,
        .accessControlExposeHeaders: exposedHeaders,
        .accessControlMaxAge: "86400",
        .contentLength: "0",
    ]
}

/// A response for `RequestHandler` to send.
enum OutgoingResponse: Sendable {
    /// All bytes of it, in one or two buffers.
    case bytes(ByteBuffer, more: ByteBuffer?)
    /// For the connection's handlers to encode.
    case response(Response)

    /// Bytes that are sent at once, with or without the head.
    var count: Int {
        switch self {
        case .bytes(let first, let more): return first.readableBytes + (more?.readableBytes ?? 0)
        case .response(let response):
            guard case .whole(let buffer) = response.body else { return 0 }
            return buffer.readableBytes
        }
    }
}
