import HTTPTypes
import NIOCore
import ParseProtocol

/// Encodes every response to a request of the protocol: writes its head, and puts the body into its final form.
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

    /// A large body goes out in parts.
    /// - Parameters:
    ///   - hold: the response's share of the memory, which a large body keeps until the client has it.
    ///   - compresses: whether to compress the body (`ResponseCompression`).
    private func response(
        _ answer: ParseResponse, to request: HTTPRequest, requestId: String, _ hold: ByteHold?, compresses: Bool
    ) -> Response {
        let form = form(of: answer, to: request, compresses: compresses)
        var headers = Self.headers(origin: request.headerFields[.origin], configuration.admission.origins)
        headers.append(HTTPField(name: .date, value: date.text))
        headers.append(HTTPField(name: Self.requestIdName, value: requestId))
        if let location = answer.location { headers[.location] = location }
        if let seconds = answer.retryAfterSeconds { headers[.retryAfter] = String(seconds) }
        for field in answer.headers where field.name != .setCookie { headers[field.name] = field.value }
        // A page may set two cookies.
        headers.append(contentsOf: answer.headers[fields: .setCookie])
        if let tag = form.tag {
            headers.append(HTTPField(name: .eTag, value: tag))
            if answer.isJSON {
                headers.append(Self.cacheControl)
                headers.append(Self.vary)
            }
        }
        if form.isNotModified {
            headers[.contentType] = nil
            return Response(status: .notModified, headers: headers)
        }
        if form.isGzip { headers[.contentEncoding] = "gzip" }
        let response = Response(
            status: .init(code: answer.status), headers: headers,
            body: answer.stream ?? form.shared.map { body($0, hold) }
                ?? PacedBody.responseBody(form.body, hold, configuration.capacity))
        return request.method == .head ? response.withoutBody : response
    }

    /// A shared body above this size may belong to one response, such as a picture that is not cached, so it is paced.
    private func body(_ shared: ByteBuffer, _ hold: ByteHold?) -> ResponseBody {
        guard shared.readableBytes > HTTPFront.loopAnswerBytesMax else { return .whole(shared) }
        return PacedBody.responseBody(shared.readableBytesView, hold, configuration.capacity)
    }

    /// The response to a CORS preflight.
    func preflight(_ request: HTTPRequest) -> Response {
        var headers = Self.preflightHeaders
        headers.append(HTTPField(name: .date, value: date.text))
        configuration.admission.origins.apply(to: &headers, origin: request.headerFields[.origin])
        return Response(status: .ok, headers: headers)
    }

    // MARK: - The form of the body

    /// A body as one client gets it.
    private struct Form {
        /// With the URLs of its files; empty for a shared body.
        var body: [UInt8] = []
        var shared: ByteBuffer?
        /// Nil for a response that HTTP caches do not store.
        var tag: String?
        /// Whether the body is in gzip.
        var isGzip = false
        /// Whether the client's copy is current: the client gets the head alone, with status 304.
        var isNotModified = false

        var count: Int { shared?.readableBytes ?? body.count }
    }

    private func form(of answer: ParseResponse, to request: HTTPRequest, compresses: Bool) -> Form {
        var form = Form(shared: answer.final?.buffer)
        if answer.final == nil { form.body = answer.isJSON ? configuration.fileLinks.linked(answer.body) : answer.body }
        // Responses to POST have no tag, also those to a tunnelled GET.
        if answer.status == 200, request.method == .get || request.method == .head, answer.stream == nil,
            answer.page != nil || answer.isJSON
        {
            let tag = answer.final?.tag ?? EntityTag.of(form.body)
            form.tag = compresses ? ResponseCompression.weak(tag) : tag
            form.isNotModified = EntityTag.isNamed(tag, in: request.headerFields[.ifNoneMatch])
        }
        guard compresses, !form.isNotModified else { return form }
        if let final = answer.final {
            guard let gzip = final.gzip?.bytes(of: final.buffer) else { return form }
            form.shared = gzip
        } else {
            guard let gzip = ResponseCompression.gzip(form.body) else { return form }
            form.body = gzip
        }
        form.isGzip = true
        return form
    }

    // MARK: - Encoded here

    /// The response to a request: as bytes where all of its headers are encoded already.
    /// - Parameters:
    ///   - hold: as for `response`.
    ///   - bytesMax: the largest body that is encoded here; nil for none.
    ///   - compresses: as for `response`.
    func outgoing(
        _ answer: ParseResponse, to request: HTTPRequest, requestId: String, _ hold: ByteHold, bytesMax: Int?,
        compresses: Bool
    ) -> OutgoingResponse {
        // A response to a POST has no tag. Only the head of a change fits it, which is for no final or compressed body,
        // such as a tunnelled GET may have.
        if let bytesMax, answer.bodyBytes <= bytesMax, request.method == .get || answer.final == nil && !compresses,
            let heads = heads(of: answer, to: request)
        {
            let form = form(of: answer, to: request, compresses: compresses)
            if let tag = form.tag {
                return read(form, form.isGzip ? heads.gzipReads : heads.reads, tag, requestId)
            }
            if let changes = heads.changes, form.shared == nil { return change(answer, form, changes, requestId) }
        }
        return .response(response(answer, to: request, requestId: requestId, hold, compresses: compresses))
    }

    /// A response with a body in its final form.
    /// - Parameter isNotModified: whether the client's copy is current.
    func outgoing(_ body: FinalBody, _ heads: ReadHeads, requestId: String, isNotModified: Bool) -> OutgoingResponse {
        read(Form(shared: body.buffer, isNotModified: isNotModified), heads, body.tag, requestId)
    }

    /// The encoded heads for a response; nil for a response with its own headers. Pages of the storefront have encoded
    /// headers, too, but none for browsers' requests with an origin.
    private func heads(
        of answer: ParseResponse, to request: HTTPRequest
    ) -> (reads: ReadHeads, gzipReads: ReadHeads, changes: ResponseHeads?)? {
        let hasOrigin = request.headerFields[.origin] != nil
        if let page = answer.page, answer.final != nil, !hasOrigin { return (page.reads, page.gzipReads, nil) }
        let isUsual = answer.location == nil ? answer.status == 200 : answer.status == 201
        // Cloud code chooses the URL of a file, and a line break in it would begin another header.
        guard isUsual, answer.headers.isEmpty, answer.stream == nil, answer.retryAfterSeconds == nil,
            answer.location?.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) ?? true,
            let heads = hasOrigin ? heads.inBrowsers : heads.usual
        else { return nil }
        return (heads.reads, heads.gzipReads, heads)
    }

    private func read(_ form: Form, _ heads: ReadHeads, _ tag: String, _ requestId: String) -> OutgoingResponse {
        let isJoined =
            !form.isNotModified && form.count <= (form.shared == nil ? Self.joinedBytesMax : Self.copiedBytesMax)
        var buffer = ByteBuffer()
        buffer.reserveCapacity(heads.bytesMax + (isJoined ? form.count : 0))
        heads.write(
            requestId: requestId, date: date.text, tag: tag, length: form.isNotModified ? nil : form.count, to: &buffer)
        if form.isNotModified { return .bytes(buffer, more: nil) }
        guard isJoined else { return .bytes(buffer, more: form.shared ?? ByteBuffer(bytes: form.body)) }
        if let shared = form.shared { buffer.writeImmutableBuffer(shared) } else { buffer.writeBytes(form.body) }
        return .bytes(buffer, more: nil)
    }

    private func change(
        _ answer: ParseResponse, _ form: Form, _ heads: ResponseHeads, _ requestId: String
    ) -> OutgoingResponse {
        let isJoined = form.count <= Self.joinedBytesMax
        var buffer = ByteBuffer()
        buffer.reserveCapacity(heads.bytesMax(location: answer.location) + (isJoined ? form.count : 0))
        heads.write(
            requestId: requestId, date: date.text, location: answer.location, length: form.count, to: &buffer)
        guard isJoined else { return .bytes(buffer, more: ByteBuffer(bytes: form.body)) }
        buffer.writeBytes(form.body)
        return .bytes(buffer, more: nil)
    }

    /// A body up to this size is copied behind its head. A larger one is not, because the copy would double the counted
    /// memory.
    private static let joinedBytesMax = 64 << 10
    /// The same for a shared body: copying a larger one takes longer than writing a second buffer.
    private static let copiedBytesMax = 4 << 10

    // MARK: - Fields

    /// The headers that every response to a page of this origin has.
    static func headers(origin: String?, _ rule: OriginRule) -> HTTPFields {
        var headers = commonHeaders
        rule.apply(to: &headers, origin: origin)
        // PARSE_PROTOCOL 1.3 has these on every response. Only browsers, which send an origin, read them.
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

    /// A device may store a response and must revalidate it each time; shared caches may not store what one user sees.
    private static let cacheControl = HTTPField(name: .cacheControl, value: "private, no-cache")
    /// The request headers on which a response depends, beside the URL: they identify the caller, and choose the form.
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
