import Messages
import Synchronization

/// Several requests that came in one, and the way of their answers into one.
extension ServiceRequest {
    /// One of the requests that another one brings.
    public struct Part: Sendable {
        /// The call's name, such as `mail.send.v1`.
        public var kind: String
        /// See `Envelope.idempotency_key`.
        public var idempotencyKey: String
        /// The encoded message of the kind.
        public var body: [UInt8]

        /// A part without documents.
        public init(kind: String, idempotencyKey: String, body: [UInt8]) {
            self.kind = kind
            self.idempotencyKey = idempotencyKey
            self.body = body
        }
    }

    /// Takes the request apart into requests with its rights and its deadline, each to be answered once, in any order
    /// and on any thread. The request itself is answered when the last of them is, and by nobody else.
    /// - Parameters:
    ///   - contents: at least one.
    ///   - join: makes the answer of theirs, which are in the order of `contents`. Called once, on the thread that
    ///     gives the last one.
    public func taken(
        apart contents: [Part],
        join: @escaping @Sendable ([Result<BusReply, BusFailure>]) -> Result<BusReply, BusFailure>
    ) -> [ServiceRequest] {
        precondition(!contents.isEmpty, "A request without parts is answered by nobody.")
        let way = PartsWay(of: self, count: contents.count, join: join)
        return contents.enumerated().map { index, part in
            var envelope = envelope
            envelope.kind = part.kind
            envelope.idempotencyKey = part.idempotencyKey
            envelope.correlation = UInt64(index)
            return ServiceRequest(envelope: envelope, body: part.body, documents: [], way: way)
        }
    }
}

/// The way of the answers to the parts of a request: they are gathered by their numbers from 0.
private final class PartsWay: ReplyWay {
    private struct State {
        var replies: [Result<BusReply, BusFailure>?]
        var left: Int
        var used: Int64 = 0
    }

    private let whole: ServiceRequest
    private let join: @Sendable ([Result<BusReply, BusFailure>]) -> Result<BusReply, BusFailure>
    private let state: Mutex<State>

    init(
        of whole: ServiceRequest, count: Int,
        join: @escaping @Sendable ([Result<BusReply, BusFailure>]) -> Result<BusReply, BusFailure>
    ) {
        self.whole = whole
        self.join = join
        state = Mutex(State(replies: Array(repeating: nil, count: count), left: count))
    }

    func send(_ message: BusMessage) {
        let reply = Result { () throws(BusFailure) in try BusReply(message) }
        let all = state.withLock { state -> (replies: [Result<BusReply, BusFailure>], used: Int64)? in
            let index = Int(message.envelope.correlation)
            guard state.replies[index] == nil else { return nil }
            state.replies[index] = reply
            state.used += message.envelope.used
            state.left -= 1
            return state.left == 0 ? (state.replies.compactMap(\.self), state.used) : nil
        }
        guard let all else { return }
        whole.reply(join(all.replies), used: all.used)
    }
}
