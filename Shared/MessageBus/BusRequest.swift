import Messages
import SwiftProtobuf

/// A caller's request to another service.
public struct BusRequest: Sendable {
    /// The call's name, such as `catalog.find.v1`; its first component is the service.
    public var kind: String
    /// The encoded message of the kind.
    public var body: [UInt8]
    /// Parse objects as JSON texts, at most `BusMessage.documentsMax`.
    public var documents: [[UInt8]] = []
    /// The rights under which the request is made; nobody's unless set.
    public var principal = Principal()
    /// Changes something, so the writer must have it.
    public var writes = false
    /// See `Envelope.shared`.
    public var shared = false
    /// See `Envelope.idempotency_key`. Empty means: never repeat.
    public var idempotencyKey = ""
    /// The time on `BusClock` after which nobody waits for the answer.
    public var deadline: BusClock.Milliseconds
    /// The id under which logs of all services name the client's request; empty when there is none.
    public var traceId = ""
    /// See `Envelope.budget`.
    public var budget: Int64 = 0

    /// A read or a write of `message`, waited for at most `timeout`.
    public init<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, timeout: Duration = .seconds(10)
    ) throws {
        self.init(kind: call.kind, body: try message.serializedBytes(), timeout: timeout)
        shared = call.spreads
    }

    /// A request whose body is encoded already.
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
        envelope.budget = budget
        envelope.clock = BusClock.name
        return envelope
    }
}

/// The answer to a `BusRequest`.
public struct BusReply: Sendable {
    /// The encoded message that the kind promises as its reply.
    public var body: [UInt8]
    /// Parse objects as JSON texts, at most `BusMessage.documentsMax`.
    public var documents: [[UInt8]]
    /// Sessions that the gateway must drop before it passes the reply on; only `users` sets it.
    public var forget: Forget?
    /// Microseconds of processor time that the answer took, as the receiver of the request says.
    public internal(set) var used: Int64 = 0

    /// A reply with an encoded `message`.
    /// - Throws: `BinaryEncodingError` of SwiftProtobuf.
    public init(_ message: some Message, documents: [[UInt8]] = [], forget: Forget? = nil) throws {
        self.init(body: try message.serializedBytes(), documents: documents, forget: forget)
    }

    /// A reply whose body is encoded already.
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
