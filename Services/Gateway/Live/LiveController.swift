import HTTPTypes
import Messages
import NIOCore
import ParseProtocol

/// Live queries as Server-Sent Events, for what has no SDK: `GET /live/<class>?where=…`.
struct LiveController: Sendable {
    let hub: LiveHub

    /// - Throws: as a find of the query would; `.requestLimitExceeded` (155) when there are too many.
    func stream(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError)
        -> ParseResponse
    {
        guard !request.isInBatch else { throw ParseRouter.noRoute }
        // Whoever does not know that the answer has no end would wait for it.
        guard request.headers[.accept]?.lowercased().contains(Self.mediaType) == true else {
            throw ParseError(.invalidQuery, "Changes are told as \(Self.mediaType), which the header Accept must name.")
        }
        guard hub.access.settings.isOn else { throw ParseError(.commandUnavailable, "Live queries are off.") }
        guard hub.enter() else { throw .tooManyRequests("There are too many connections.", retryAfterSeconds: 10) }
        // From here on it gives the place back, whatever becomes of the answer.
        let stream = LiveStream(hub)
        let (wish, cursor) = try Self.wish(className, request)
        var credentials = request.credentials
        // Of a key that is more than a client's the principal tells already.
        if principal.isPrivileged { credentials.sessionToken = nil }
        let admitted = principal.isPrivileged ? principal : Self.admitted(principal)
        let subscription = LiveSubscription(
            requestId: 1, wish: wish, admitted: admitted, credentials: credentials, from: request.clientAddress,
            sink: stream.outlet)
        stream.own(subscription)
        try await hub.mayConnect(admitted, credentials, from: request.clientAddress)
        try await hub.subscribe(subscription, after: cursor)
        var response = ParseResponse(body: [])
        response.headers = [
            .contentType: "\(Self.mediaType); charset=utf-8", .cacheControl: "no-store",
            Self.buffering: "no",
        ]
        response.stream = .stream { writer in try await stream.send(through: writer) }
        return response
    }

    private static let mediaType = "text/event-stream"

    /// The client without its session, which the hub looks up each time.
    private static func admitted(_ principal: Principal) -> Principal {
        .with {
            $0.network = principal.network
            $0.installationID = principal.installationID
        }
    }

    private static func wish(
        _ className: String, _ request: ParseRequest
    ) throws(ParseError) -> (LiveWish, LiveCursor?) {
        let options = try request.options()
        for name in options.keys where !["where", "keys", "watch", "cursor"].contains(name) {
            throw ParseError(.invalidQuery, "Invalid parameter for query: \(name.prefix(64))")
        }
        let text = request.headers[lastEventId] ?? options["cursor"]?.stringValue
        var cursor: LiveCursor?
        if let text, !text.isEmpty {
            guard let known = LiveCursor(text) else {
                throw ParseError(.invalidQuery, "The cursor is not one of ours.")
            }
            cursor = known
        }
        let wish = LiveWish(
            className: className, condition: try options["where"].flatMap(OptionValue.condition) ?? Array("{}".utf8),
            keys: try LiveWish.names(options["keys"]), watch: try LiveWish.names(options["watch"]))
        return (wish, cursor)
    }

    private static let lastEventId = headerName("Last-Event-ID")
    private static let buffering = headerName("X-Accel-Buffering")
}

/// One stream of events. It ends its subscription when nobody has it any more.
private final class LiveStream: Sendable {
    let outlet: LiveStreamOutlet
    private let hub: LiveHub
    private let texts: AsyncStream<ByteBuffer>

    /// A comment so often, so that proxies keep the connection and one that is gone is noticed.
    private static let commentEvery = Duration.seconds(20)

    init(_ hub: LiveHub) {
        self.hub = hub
        let (texts, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
        self.texts = texts
        outlet = LiveStreamOutlet(
            continuation, bytesMax: hub.access.settings.queueBytesMax, backlog: hub.backlog)
    }

    func own(_ subscription: LiveSubscription) { outlet.own(subscription) }

    deinit {
        hub.end(outlet.disown())
        hub.leave()
    }

    func send(through writer: ResponseBodyWriter) async throws {
        let comments = Task { [outlet] in
            while !Task.isCancelled {
                try await Task.sleep(for: Self.commentEvery)
                outlet.comment()
            }
        }
        defer { comments.cancel() }
        for await text in texts {
            try await writer.write(text)
            outlet.taken(text.readableBytes)
        }
    }
}
