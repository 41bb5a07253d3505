import Messages
import ParseProtocol
import SwiftProtobuf

/// A request to another service.
public struct BusRequest: Sendable {
    /// The call's name, such as `catalog.find.v1`; its first component is the service.
    public var kind: String
    /// The encoded message of the kind.
    public var body: [UInt8]
    /// Parse objects as JSON texts, at most `BusMessage.documentsMax`.
    public var documents: [[UInt8]] = []
    /// The rights of the request; none by default.
    public var principal = Principal()
    /// The request changes data and must go to the writer.
    public var writes = false
    /// See `Envelope.shared`.
    public var shared = false
    /// See `Envelope.idempotency_key`. Empty: the request must not be repeated.
    public var idempotencyKey = ""
    /// Begins the keys of a client's write with an `Idempotency-Key`: the receiver stores their replies for a day.
    public static let clientKeyPrefix = "client:"
    /// The deadline for the reply, on `BusClock`.
    public var deadline: BusClock.Milliseconds
    /// The id of the client's request in the logs of all services; empty when there is none.
    public var traceId = ""
    /// The position of the work in a trace; nil when there is none.
    public var trace: TraceContext?
    /// The budget of the request that the call is made for; nil for work that belongs to no request.
    public var budget: RequestBudget?
    /// The replica that a gateway's own read is for, by its name. When that replica is gone, another one gets the read.
    /// Nil for any replica.
    public var replica: String?

    /// A read or a write of `message` with a timeout.
    public init<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, timeout: Duration = .seconds(10)
    ) throws {
        self.init(kind: call.kind, body: try message.serializedBytes(), timeout: timeout)
        shared = call.spreads
    }

    /// A request with an encoded body.
    public init(kind: String, body: [UInt8], timeout: Duration = .seconds(10)) {
        self.kind = kind
        self.body = body
        deadline = BusClock.now + timeout.milliseconds
    }

    package var envelope: Envelope {
        var envelope = Envelope()
        envelope.version = BusMessage.version
        envelope.form = .request
        envelope.kind = kind
        envelope.deadline = deadline
        envelope.principal = principal
        envelope.writes = writes
        envelope.shared = shared && writes
        envelope.idempotencyKey = idempotencyKey
        envelope.traceID = traceId
        if let trace { envelope.traceParent = trace.text }
        envelope.budget = budget?.onTheWire ?? 0
        envelope.clock = BusClock.name
        return envelope
    }
}

extension BusRequest {
    /// Whether its trace may be recorded. The attempt to begin a span allocates one, and reads the clock.
    var isTraced: Bool { trace?.isSampled == true }

    /// Begins the span of the call, which the receiver's spans are a part of; nil when none is recorded.
    mutating func beginSpan() -> RunningSpan? {
        guard isTraced, let span = RunningSpan("call \(kind)", .client, of: trace) else { return nil }
        trace = span.context
        return span
    }
}

extension Result where Failure == BusFailure {
    /// Whether the receiver failed, rather than refused.
    var isFault: Bool { if case .failure(let failure) = self { failure.isFault } else { false } }
}

/// The reply to a `BusRequest`.
public struct BusReply: Sendable {
    /// The encoded reply message of the kind.
    public var body: [UInt8]
    /// Parse objects as JSON texts, at most `BusMessage.documentsMax`.
    public var documents: [[UInt8]]
    /// The invalidations that the gateway applies before it passes the reply on.
    public var forget: Forget?
    /// Microseconds of processor time for the request, as reported by its receiver.
    public internal(set) var used: Int64 = 0

    /// A reply with an encoded `message`.
    /// - Throws: `BinaryEncodingError` of SwiftProtobuf.
    public init(_ message: some Message, documents: [[UInt8]] = [], forget: Forget? = nil) throws {
        self.init(body: try message.serializedBytes(), documents: documents, forget: forget)
    }

    /// A reply with an encoded body.
    public init(body: [UInt8] = [], documents: [[UInt8]] = [], forget: Forget? = nil) {
        self.body = body
        self.documents = documents
        self.forget = forget
    }

    /// - Throws: `BusFailure` when the reply is a failure.
    init(_ message: BusMessage) throws(BusFailure) {
        if message.envelope.hasFailure { throw BusFailure(message.envelope.failure, used: message.envelope.used) }
        self.init(
            body: message.body, documents: message.documents,
            forget: message.envelope.hasForget ? message.envelope.forget : nil)
        used = message.envelope.used
    }
}
