import Glibc
import Messages
import SwiftProtobuf

/// What a caller asks of another service.
public struct BusRequest: Sendable {
    public var kind: String
    public var body: [UInt8]
    public var documents: [[UInt8]] = []
    public var principal = Principal()
    /// Changes something, so the writer must have it.
    public var writes = false
    /// See `Envelope.idempotency_key`. Empty means: never repeat.
    public var idempotencyKey = ""
    public var deadline: BusClock.Milliseconds
    public var traceId = ""

    /// A read or a write of `message`, waited for at most `timeout`.
    public init(_ kind: String, _ message: some Message, timeout: Duration = .seconds(10)) throws {
        self.init(kind: kind, body: try message.serializedBytes(), timeout: timeout)
    }

    /// A request whose body is encoded already.
    public init(kind: String, body: [UInt8], timeout: Duration = .seconds(10)) {
        self.kind = kind
        self.body = body
        deadline = BusClock.now + timeout.milliseconds
    }

    var envelope: Envelope {
        var envelope = Envelope()
        envelope.version = BusMessage.version
        envelope.form = .request
        envelope.kind = kind
        envelope.deadline = deadline
        envelope.principal = principal
        envelope.writes = writes
        envelope.idempotencyKey = idempotencyKey
        envelope.traceID = traceId
        return envelope
    }
}

/// The answer to a `BusRequest`.
public struct BusReply: Sendable {
    public var body: [UInt8]
    public var documents: [[UInt8]]
    /// Sessions that the gateway must drop before it passes the reply on; only `users` sets it.
    public var forget: Forget?

    public init(_ message: some Message, documents: [[UInt8]] = [], forget: Forget? = nil) throws {
        self.init(body: try message.serializedBytes(), documents: documents, forget: forget)
    }

    public init(body: [UInt8] = [], documents: [[UInt8]] = [], forget: Forget? = nil) {
        self.body = body
        self.documents = documents
        self.forget = forget
    }

    /// - Throws: `BusFailure` when the reply is a failure.
    init(_ message: BusMessage) throws(BusFailure) {
        if message.envelope.hasFailure { throw BusFailure(message.envelope.failure) }
        self.init(
            body: message.body, documents: message.documents,
            forget: message.envelope.hasForget ? message.envelope.forget : nil)
    }
}

/// Deadlines are Unix times in milliseconds, so that they mean the same in every process.
public enum BusClock {
    public typealias Milliseconds = Int64

    public static var now: Milliseconds {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

extension Duration {
    public var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
