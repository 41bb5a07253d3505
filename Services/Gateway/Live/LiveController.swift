import HTTPTypes
import Messages
import NIOCore
import ParseProtocol

/// Live queries as Server-Sent Events, for clients without an SDK: `GET /live/<class>?where=…`.
struct LiveController: Sendable {
    let hub: LiveHub

    /// - Throws: the errors of a find with the query; `.requestLimitExceeded` (155) when there are too many
    ///   connections.
    func stream(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError)
        -> ParseResponse
    {
        guard !request.isInBatch else { throw ParseRouter.noRoute }
        // A client that does not accept event streams would wait for the end of the response.
        guard request.headers[.accept]?.lowercased().contains(Self.mediaType) == true else {
            throw ParseError(.invalidQuery, "Events are sent as \(Self.mediaType); the Accept header must name it.")
        }
        guard hub.access.settings.isOn else { throw ParseError(.commandUnavailable, "Live queries are off.") }
        guard hub.enter() else { throw .tooManyRequests("There are too many connections.", retryAfterSeconds: 10) }
        // From here on the stream releases the connection's slot when it ends for any reason.
        let stream = LiveStream(hub)
        let (query, cursor) = try Self.query(className, request)
        var credentials = request.credentials
        // A privileged key already determines the principal.
        if principal.isPrivileged { credentials.sessionToken = nil }
        let admitted = principal.isPrivileged ? principal : Self.admitted(principal)
        let subscription = LiveSubscription(
            requestId: 1, query: query, admitted: admitted, credentials: credentials, from: request.clientAddress,
            sink: stream.outlet)
        stream.own(subscription)
        try await hub.mayConnect(admitted, credentials, from: request.clientAddress, in: request.call)
        try await hub.subscribe(subscription, after: cursor, in: request.call)
        var response = ParseResponse(body: [])
        response.headers = [
            .contentType: "\(Self.mediaType); charset=utf-8", .cacheControl: "no-store",
            Self.buffering: "no",
        ]
        response.stream = .stream { writer in try await stream.send(through: writer) }
        return response
    }

    private static let mediaType = "text/event-stream"

    /// The client without its session, which the hub resolves each time.
    private static func admitted(_ principal: Principal) -> Principal {
        .with {
            $0.network = principal.network
            $0.installationID = principal.installationID
        }
    }

    private static func query(
        _ className: String, _ request: ParseRequest
    ) throws(ParseError) -> (SubscribedQuery, LiveCursor?) {
        let options = try request.options()
        for name in options.keys where !["where", "keys", "watch", "cursor"].contains(name) {
            throw ParseError(.invalidQuery, "Invalid parameter for query: \(name.prefix(64))")
        }
        let text = request.headers[lastEventId] ?? options["cursor"]?.stringValue
        var cursor: LiveCursor?
        if let text, !text.isEmpty {
            guard let resumed = LiveCursor(text) else {
                throw ParseError(.invalidQuery, "The cursor is not valid.")
            }
            cursor = resumed
        }
        let query = SubscribedQuery(
            className: className, condition: try options["where"].flatMap(OptionValue.condition) ?? Array("{}".utf8),
            keys: try SubscribedQuery.names(options["keys"]), watch: try SubscribedQuery.names(options["watch"]))
        return (query, cursor)
    }

    private static let lastEventId = headerName("Last-Event-ID")
    private static let buffering = headerName("X-Accel-Buffering")
}

/// One event stream. It ends its subscription when its last reference is gone.
private final class LiveStream: Sendable {
    let outlet: LiveStreamSink
    private let hub: LiveHub
    private let texts: AsyncStream<ByteBuffer>

    /// The interval of comments: they keep proxies from closing the connection and reveal a lost client.
    private static let commentEvery = Duration.seconds(20)

    init(_ hub: LiveHub) {
        self.hub = hub
        let (texts, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
        self.texts = texts
        outlet = LiveStreamSink(
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
