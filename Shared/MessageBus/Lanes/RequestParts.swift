import Messages
import Synchronization

/// Splits a request into several, and joins their replies into one.
extension ServiceRequest {
    /// One of the requests contained in another request.
    public struct Part: Sendable {
        /// The call's name, such as `mail.send.v1`.
        public var kind: String
        /// See `Envelope.idempotency_key`.
        public var idempotencyKey: String
        /// The encoded message of the kind.
        public var body: [UInt8]
        /// See `Envelope.trace_parent`.
        public var traceParent = ""

        /// A part without documents.
        public init(kind: String, idempotencyKey: String, body: [UInt8], traceParent: String = "") {
            self.kind = kind
            self.idempotencyKey = idempotencyKey
            self.body = body
            self.traceParent = traceParent
        }
    }

    /// Splits the request into requests with its rights and its deadline. Each must be answered once, in any order and
    /// on any thread. The last answer also answers the original request, which must not be answered otherwise.
    /// - Parameters:
    ///   - contents: at least one part.
    ///   - join: combines the replies, which are in the order of `contents`. Called once, on the thread of the last
    ///     answer.
    public func taken(
        apart contents: [Part],
        join: @escaping @Sendable ([Result<BusReply, BusFailure>]) -> Result<BusReply, BusFailure>
    ) -> [ServiceRequest] {
        precondition(!contents.isEmpty, "A request without parts is answered by nobody.")
        let way = PartsReplyPath(of: self, count: contents.count, join: join)
        return contents.enumerated().map { index, part in
            var envelope = envelope
            envelope.kind = part.kind
            envelope.idempotencyKey = part.idempotencyKey
            envelope.correlation = UInt64(index)
            envelope.traceParent = part.traceParent
            return ServiceRequest(envelope: envelope, body: part.body, documents: [], way: way)
        }
    }
}

/// Collects the replies to the parts of a request by their index.
private final class PartsReplyPath: ReplyPath {
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

    func send(_ message: BusMessage, in batch: ReplyBatch?) {
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
        whole.reply(join(all.replies), used: all.used, in: batch)
    }
}
