import HTTPTypes
import Hummingbird
import NIOCore
import ParseProtocol

/// A read that is answered without a task, from its HTTP head to the answer's.
struct DirectExchange: Sendable {
    let head: HTTPRequest
    let read: DirectRead
    let hold: ByteHold
    let start: ContinuousClock.Instant
}

/// The way of a read that `DirectReader` answers: the same pieces as `respond`, none of which waits.
extension HTTPFront {
    /// An object or a page of a shop. What is larger is sent a part at a time (`AnswerWriter`), on the way of all other
    /// requests.
    static let directBytesMax = 256 << 10

    /// Whether a request may be one that is answered at once, as far as its head tells.
    func mayBeDirect(_ head: HTTPRequest) -> Bool {
        guard head.method == .get else { return false }
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
    func direct(_ head: HTTPRequest, over connection: any Channel) -> DirectExchange? {
        let start = ContinuousClock.now
        let uri = URI(head.path ?? "")
        guard
            let parsed = try? parse(head, uri, from: connection.remoteAddress, requestId: RequestIds.next()),
            let read = router.direct(parsed)
        else { return nil }
        let hold = answers.hold(for: .init(network: parsed.network, isKnown: false), over: connection)
        return DirectExchange(head: head, read: read, hold: hold, start: start)
    }

    /// Asks the service.
    /// - Parameter completion: called on the broker's thread, with nil when the answer is too large.
    func ask(_ exchange: DirectExchange, completion: @escaping @Sendable (ParseResponse?) -> Void) {
        router.ask(exchange.read, exchange.hold, bytesMax: Self.directBytesMax, completion: completion)
    }

    /// Counts and logs the answer.
    /// - Returns: what is sent.
    func finish(_ exchange: DirectExchange, _ answer: ParseResponse) -> (head: HTTPResponse, body: [UInt8]) {
        let request = exchange.read.request
        router.meter.count(request, answer)
        log(
            answer, to: exchange.head, path: "/" + request.path.joined(separator: "/"),
            requestId: request.requestId, since: exchange.start)
        var (head, body) = self.head(of: answer, to: exchange.head, requestId: request.requestId)
        if head.status != .notModified {
            head.headerFields.append(HTTPField(name: .contentLength, value: String(body.count)))
        }
        return (head, body)
    }
}
