import HTTPTypes
import HummingbirdCore
import NIOCore
import ParseProtocol

/// A read that is answered without a task, from its HTTP head to the answer's.
struct DirectExchange: Sendable {
    let head: HTTPRequest
    let path: String
    let request: ParseRequest
    let hold: ByteHold
    let start: ContinuousClock.Instant
}

/// The way of a read that `DirectReader` answers: the same pieces as `respond`, none of which waits.
extension HTTPFront {
    /// An object or a page of a shop. What is larger is sent a part at a time (`AnswerWriter`), on the way of all other
    /// requests.
    static let directBytesMax = 256 << 10

    /// Bytes of a URL whose condition is decoded on an event loop: tens of microseconds. Longer ones take their time
    /// elsewhere.
    private static let urlBytesMax = 8 << 10

    /// Whether a request may be one that is answered at once, as far as its head tells.
    func mayBeDirect(_ head: HTTPRequest) -> Bool {
        guard head.method == .get, head.path?.utf8.count ?? 0 <= Self.urlBytesMax else { return false }
        for field in head.headerFields {
            switch field.name {
            case .contentLength, .transferEncoding, .expect, .upgrade: return false
            case .connection: if field.value.lowercased() != "keep-alive" { return false }
            default: break
            }
        }
        return true
    }

    /// The exchange that a request begins; nil when it takes the way of all others.
    func direct(_ head: HTTPRequest, over connection: any Channel) -> (exchange: DirectExchange, read: DirectRead)? {
        let start = ContinuousClock.now
        let uri = URI(head.path ?? "")
        guard
            var parsed = try? parse(head, uri, from: connection.remoteAddress, requestId: RequestIds.next()),
            let read = router.direct(&parsed)
        else { return nil }
        let hold = answers.hold(for: .init(network: parsed.network, isKnown: false), over: connection)
        return (DirectExchange(head: head, path: uri.path, request: parsed, hold: hold, start: start), read)
    }

    /// Asks the service.
    /// - Parameter completion: called on the broker's thread.
    func ask(
        _ question: DirectRead.Question, of exchange: DirectExchange,
        completion: @escaping @Sendable (DirectRead.Reply) -> Void
    ) {
        router.ask(
            question, trace: exchange.request.requestId, exchange.hold, bytesMax: Self.directBytesMax,
            completion: completion)
    }

    /// Counts and logs the answer.
    /// - Returns: what is sent; no body for a client that has it already.
    func finish(_ exchange: DirectExchange, _ answer: ParseResponse) -> (head: HTTPResponse, body: ByteBuffer?) {
        let request = exchange.request
        router.meter.count(request, answer)
        log(
            answer, to: exchange.head, path: exchange.path, requestId: request.requestId,
            since: exchange.start)
        var (head, body) = self.head(of: answer, to: exchange.head, requestId: request.requestId)
        // On the way of all other requests it is Hummingbird's.
        head.headerFields.append(HTTPField(name: .date, value: date.text))
        guard head.status != .notModified else { return (head, nil) }
        let buffer = answer.final?.buffer ?? ByteBuffer(bytes: body)
        head.headerFields.append(HTTPField(name: .contentLength, value: String(buffer.readableBytes)))
        return (head, buffer)
    }
}
