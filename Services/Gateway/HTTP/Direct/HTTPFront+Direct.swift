import HTTPTypes
import NIOCore
import ParseProtocol

/// A request that is answered without a task, from its HTTP head to the answer's. A class, because it goes to the
/// broker's thread and back.
final class DirectExchange: Sendable {
    let head: HTTPRequest
    let path: String
    let request: ParseRequest
    let hold: ByteHold
    let start: ContinuousClock.Instant

    init(
        _ head: HTTPRequest, path: String, _ request: ParseRequest, _ hold: ByteHold, start: ContinuousClock.Instant
    ) {
        self.head = head
        self.path = path
        self.request = request
        self.hold = hold
        self.start = start
    }
}

/// The way of a request that `DirectHandler` answers: the same pieces as `respond`, none of which waits.
extension HTTPFront {
    /// An object or a page of a shop. What is larger is sent a part at a time (`AnswerWriter`), on the way of all other
    /// requests.
    private static let directBytesMax = 256 << 10

    /// Bytes of a URL whose condition is decoded on an event loop: tens of microseconds. Longer ones take their time
    /// elsewhere.
    private static let urlBytesMax = 8 << 10

    /// The bytes of the body of a request that may be one that is answered at once, as far as its head tells: 0 for a
    /// read. Nil when it is none.
    func directBodyBytes(_ head: HTTPRequest) -> Int? {
        let isRead = head.method == .get
        guard isRead || head.method == .post || head.method == .put, let path = head.path,
            path.utf8.count <= Self.urlBytesMax,
            mayBeChange(path) || isRead && (files.isFile(path) || isDownload(path))
        else { return nil }
        var bodyBytes: Int?
        for field in head.headerFields {
            switch field.name {
            case .transferEncoding, .expect, .upgrade: return nil
            case .contentLength:
                guard !isRead, bodyBytes == nil, let count = Int(field.value), count > 0,
                    count <= min(BodyTurns.quickBytes, configuration.bodyBytesMax)
                else { return nil }
                bodyBytes = count
            case .connection: if field.value.lowercased() != "keep-alive" { return nil }
            default: break
            }
        }
        return isRead ? 0 : bodyBytes
    }

    /// Whether a path is one of objects by the name of their class, or of an event. One that is written in another way
    /// is none.
    private func mayBeChange(_ path: String) -> Bool {
        changePaths.contains { path.utf8.starts(with: $0) }
    }

    /// The answer to a request for a file of the pages, counted and logged; nil for every other one.
    func file(for held: HeldRequest) -> DirectAnswer? {
        guard let (form, isKnown) = files.found(by: held.head), Self.areFew(held.head.headerFields) else { return nil }
        let requestId = RequestIds.next()
        log(
            isKnown ? 304 : 200, to: held.head, path: held.head.path ?? "", requestId: requestId, since: held.start)
        return bytes(form.body, form.heads, requestId: requestId, isKnown: isKnown)
    }

    /// Whether a path is one below which there are files that were uploaded, in the same sense.
    private func isDownload(_ path: String) -> Bool {
        filePaths.contains { path.utf8.starts(with: $0) }
    }

    /// The exchange that a read begins; nil when it takes the way of all others.
    /// - Parameter held: its head has what was found out about it then.
    func direct(
        _ held: inout HeldRequest, over connection: any Channel
    ) -> (exchange: DirectExchange, read: DirectRead)? {
        guard case (let uri, var parsed)? = parse(held, from: connection) else { return nil }
        guard let read = router.direct(&parsed) else {
            if let looked = parsed.looked { lookedReads.leave(looked, with: &held.head) }
            return nil
        }
        return (exchange(held, uri, parsed, over: connection), read)
    }

    /// The exchange that a change begins; nil when it takes the way of all others.
    func directChange(
        _ held: HeldRequest, over connection: any Channel
    ) -> (exchange: DirectExchange, change: DirectChange)? {
        guard case (let uri, var parsed)? = parse(held, from: connection) else { return nil }
        parsed.body = held.body.bytes
        guard let change = router.directChange(&parsed) else { return nil }
        return (exchange(held, uri, parsed, over: connection), change)
    }

    private func parse(_ held: HeldRequest, from connection: any Channel) -> (URI, ParseRequest)? {
        let uri = URI(held.head.path ?? "")
        let parsed = try? parse(held.head, uri, from: connection.remoteAddress, requestId: RequestIds.next())
        return parsed.map { (uri, $0) }
    }

    private func exchange(
        _ held: HeldRequest, _ uri: URI, _ parsed: ParseRequest, over connection: any Channel
    ) -> DirectExchange {
        let hold = answers.hold(for: .init(network: parsed.network, isKnown: false), over: connection)
        return DirectExchange(held.head, path: uri.path, parsed, hold, start: held.start)
    }

    /// The way of an event loop's questions and replies. Called on the loop.
    func traffic(of loop: any EventLoop) -> LoopTraffic {
        traffic.of(loop, with: router.controllers.objects.services.broker)
    }

    /// Asks the service.
    /// - Parameter completion: called on the event loop whose traffic it is.
    func ask(
        _ question: DirectRead.Question, of exchange: DirectExchange, over traffic: LoopTraffic,
        completion: @escaping @Sendable (DirectRead.Reply) -> Void
    ) {
        router.ask(question, trace: exchange.request.requestId, exchange.hold) { reply in
            traffic.replied { completion(reply) }
        }
        traffic.madeRequest()
    }

    /// Has the service make a change, after cloud code where that has a say in it.
    /// - Parameter completion: called on the event loop whose traffic it is.
    func make(
        _ change: DirectChange, of exchange: DirectExchange, over traffic: LoopTraffic,
        completion: @escaping @Sendable (ParseResponse) -> Void
    ) {
        if case .hooked(let object, let hooks) = change.message {
            // It waits here for cloud code and then for the service, with no thread but this one between the two.
            Task(executorPreference: traffic.executor) { [router] in
                let answer = await router.make(object, with: hooks, change, of: exchange.request, exchange.hold)
                traffic.replied { completion(answer) }
            }
            return
        }
        router.make(change, trace: exchange.request.requestId, exchange.hold) { answer in
            traffic.replied { completion(answer()) }
        }
        traffic.madeRequest()
    }

    /// What becomes of the service's reply.
    func outcome(
        of question: DirectRead.Question, _ reply: DirectRead.Reply, to exchange: DirectExchange
    ) -> DirectRead.Outcome {
        router.outcome(of: question, reply, exchange.hold, bytesMax: Self.directBytesMax)
    }

    /// Counts and logs the answer.
    func note(_ answer: ParseResponse, to exchange: DirectExchange) {
        if exchange.request.isCounted { router.meter.count(exchange.request, answer) }
        log(
            answer.status, to: exchange.head, path: exchange.path, requestId: exchange.request.requestId,
            since: exchange.start)
    }

    /// Counts and logs the answer.
    /// - Returns: what is sent.
    func finish(_ exchange: DirectExchange, _ answer: ParseResponse) -> DirectAnswer {
        note(answer, to: exchange)
        if let heads = heads(of: answer, to: exchange.head) {
            return exchange.request.method == .get
                ? bytes(of: answer, to: exchange, heads) : bytes(ofChange: answer, to: exchange, heads)
        }
        var (head, body) = self.head(of: answer, to: exchange.head, requestId: exchange.request.requestId)
        guard head.status != .notModified else { return .parts(head, nil) }
        let buffer = answer.final?.buffer ?? ByteBuffer(bytes: body)
        head.headerFields.append(HTTPField(name: .contentLength, value: String(buffer.readableBytes)))
        return .parts(head, buffer)
    }

    /// The heads that are ready for such an answer; nil when it has headers of its own.
    private func heads(of answer: ParseResponse, to request: HTTPRequest) -> AnswerHeads? {
        let isUsual = answer.location == nil ? answer.status == 200 : answer.status == 201
        guard isUsual, answer.headers.isEmpty, answer.stream == nil, answer.retryAfterSeconds == nil else { return nil }
        return request.headerFields[.origin] == nil ? heads.usual : heads.inBrowsers
    }

    private func bytes(of answer: ParseResponse, to exchange: DirectExchange, _ heads: AnswerHeads) -> DirectAnswer {
        let known = exchange.head.headerFields[.ifNoneMatch]
        let requestId = exchange.request.requestId
        if let final = answer.final {
            let isKnown = known.map { EntityTag.isNamed(final.tag, in: $0) } ?? false
            return bytes(final, heads.reads, requestId: requestId, isKnown: isKnown)
        }
        let body = configuration.fileLinks.linked(answer.body)
        let tag = EntityTag.of(body)
        let isKnown = known.map { EntityTag.isNamed(tag, in: $0) } ?? false
        let isJoined = !isKnown && body.count <= Self.joinedBytesMax
        var buffer = ByteBuffer()
        buffer.reserveCapacity(heads.reads.bytesMax + (isJoined ? body.count : 0))
        heads.reads.write(
            requestId: requestId, date: date.text, tag: tag, length: isKnown ? nil : body.count, to: &buffer)
        guard isJoined else { return .bytes(buffer, more: isKnown ? nil : ByteBuffer(bytes: body)) }
        buffer.writeBytes(body)
        return .bytes(buffer, more: nil)
    }

    /// A body that is kept, behind its head; the head alone for a client that has the body already.
    private func bytes(_ final: FinalBody, _ heads: ReadHeads, requestId: String, isKnown: Bool) -> DirectAnswer {
        let bodyBytes = final.buffer.readableBytes
        let isJoined = !isKnown && bodyBytes <= Self.copiedBytesMax
        var buffer = ByteBuffer()
        buffer.reserveCapacity(heads.bytesMax + (isJoined ? bodyBytes : 0))
        heads.write(
            requestId: requestId, date: date.text, tag: final.tag, length: isKnown ? nil : bodyBytes, to: &buffer)
        guard isJoined else { return .bytes(buffer, more: isKnown ? nil : final.buffer) }
        buffer.writeImmutableBuffer(final.buffer)
        return .bytes(buffer, more: nil)
    }

    private func bytes(
        ofChange answer: ParseResponse, to exchange: DirectExchange, _ heads: AnswerHeads
    ) -> DirectAnswer {
        let body = configuration.fileLinks.linked(answer.body)
        let isJoined = body.count <= Self.joinedBytesMax
        var buffer = ByteBuffer()
        buffer.reserveCapacity(heads.bytesMax(location: answer.location) + (isJoined ? body.count : 0))
        heads.write(
            requestId: exchange.request.requestId, date: date.text, location: answer.location, length: body.count,
            to: &buffer)
        guard isJoined else { return .bytes(buffer, more: ByteBuffer(bytes: body)) }
        buffer.writeBytes(body)
        return .bytes(buffer, more: nil)
    }

    /// Bodies that are copied to stand behind their heads: of those that have to be copied anyway, and of those that
    /// are kept. What is larger would take up to twice the memory that it is counted for, or longer than a second
    /// buffer.
    private static let joinedBytesMax = 64 << 10
    private static let copiedBytesMax = 4 << 10
}

/// An answer as it is sent.
enum DirectAnswer {
    /// All of it as it goes out, in one or two pieces.
    case bytes(ByteBuffer, more: ByteBuffer?)
    /// No body for a client that has it already.
    case parts(HTTPResponse, ByteBuffer?)

    /// Bytes, of which those of the head may be a part.
    var count: Int {
        switch self {
        case .bytes(let first, let more): first.readableBytes + (more?.readableBytes ?? 0)
        case .parts(_, let body): body?.readableBytes ?? 0
        }
    }
}
