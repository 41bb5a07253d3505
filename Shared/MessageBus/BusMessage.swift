import Messages
import SwiftProtobuf

/// One message of the bus: the envelope, the body, and documents, which are forwarded unchanged. Frames and limits are
/// described in Shared/Messages/README.md.
public struct BusMessage: Sendable {
    /// All metadata: kind, the sender's rights, deadline and so on.
    public var envelope: Envelope
    /// The encoded message of the kind; empty in a failed reply.
    public var body: [UInt8]
    /// Parse objects as JSON texts, at most `documentsMax`.
    public var documents: [[UInt8]]

    /// A message of these parts; limits are checked on encoding.
    public init(envelope: Envelope, body: [UInt8] = [], documents: [[UInt8]] = []) {
        self.envelope = envelope
        self.body = body
        self.documents = documents
    }

    /// The frame version of this build.
    public static let version: UInt32 = 1
    /// Limit of documents; a larger message is refused. A batch has at most 200 changes and a fetch returns at most
    /// 1,000 objects.
    public static let documentsMax = 4096
    /// Limit of a frame; ZeroMQ closes the connection of a peer that exceeds it. The store refuses answers of half this
    /// size.
    public static let frameBytesMax: Int64 = 64 << 20

    /// Reasons why frames are not a valid message.
    public enum Malformed: Error, Equatable {
        case frameCount(Int)
        case envelope
        case version(UInt32)
    }

    /// Decodes the frames of a message, without the routing id.
    /// - Throws: `Malformed`. For an envelope of another version, `readableEnvelope` returns its correlation.
    public init(frames: ArraySlice<[UInt8]>) throws(Malformed) {
        guard frames.count >= 2, frames.count <= 2 + Self.documentsMax else { throw .frameCount(frames.count) }
        guard var envelope = Self.readableEnvelope(frames) else { throw .envelope }
        guard envelope.version == Self.version else { throw .version(envelope.version) }
        if envelope.form == .request { envelope.takeDeadline() }
        self.init(envelope: envelope, body: frames[frames.startIndex + 1], documents: Array(frames.dropFirst(2)))
    }

    /// The envelope, whatever its version, for an error reply to the right request.
    static func readableEnvelope(_ frames: ArraySlice<[UInt8]>) -> Envelope? {
        frames.first.flatMap { try? Envelope(serializedBytes: $0) }
    }

    /// The frames to send.
    /// - Parameter lane: the routing id that comes first; nil for none.
    /// - Throws: never for envelopes built by this package; SwiftProtobuf declares it.
    func frames(to lane: [UInt8]? = nil) throws -> [[UInt8]] {
        var frames: [[UInt8]] = []
        frames.reserveCapacity(3 + documents.count)
        if let lane { frames.append(lane) }
        frames.append(try envelope.serializedBytes())
        frames.append(body)
        frames.append(contentsOf: documents)
        return frames
    }
}

extension Envelope {
    /// The service named by a kind: `catalog` for `catalog.find.v1`.
    public var destination: Substring { Substring(kind.utf8.prefix { $0 != UInt8(ascii: ".") }) }

    /// Whether the request may be executed twice: a read, or a write that is recognised by its key.
    var isRepeatable: Bool { !writes || !idempotencyKey.isEmpty }

    /// The envelope of the reply to this request.
    package func reply(_ failure: Failure? = nil) -> Envelope {
        var reply = Envelope()
        reply.version = BusMessage.version
        reply.form = .reply
        reply.kind = kind
        reply.correlation = correlation
        reply.traceID = traceID
        if let failure { reply.failure = failure }
        return reply
    }
}

/// The error of a failed request: the `Failure` of its reply, or a failure that this process detected.
public struct BusFailure: Error, Sendable, CustomStringConvertible {
    /// The code, the public text and whether a retry may help.
    public let failure: Failure

    /// Microseconds of processor time used before the failure.
    public let used: Int64

    /// A failure from a reply. `used` is in microseconds of processor time.
    public init(_ failure: Failure, used: Int64 = 0) {
        self.failure = failure
        self.used = used
    }

    /// A failure of this process, before any processor time was used. `code` is a Parse error code, `message` a public
    /// text.
    public init(code: Int32, _ message: String, retriable: Bool = false) {
        used = 0
        failure = Failure.with {
            $0.code = code
            $0.message = message
            $0.retriable = retriable
        }
    }

    /// The receiver has no route for this kind, for example because it runs an earlier release.
    public static func unknown(kind: String) -> BusFailure { BusFailure(code: unknownKind, "Unknown kind \(kind).") }
    /// Whether the receiver has no route for the kind.
    public var isOfUnknownKind: Bool { failure.code == Self.unknownKind }
    /// Parse's error code for an unavailable command.
    private static let unknownKind: Int32 = 108

    /// No replica is available; the request was not executed. HTTP clients get 503 with Retry-After.
    public static func unavailable(_ why: String) -> BusFailure { BusFailure(code: 2, why, retriable: true) }
    /// A limit is exhausted; the request was not executed, and the broker does not retry it. HTTP clients get 429 with
    /// Retry-After.
    public static func tooManyRequests(_ why: String, retryAfterSeconds: Int) -> BusFailure {
        BusFailure(
            Failure.with {
                $0.code = 155
                $0.message = why
                $0.retryAfter = UInt32(clamping: max(1, retryAfterSeconds))
            })
    }
    /// The deadline passed; the outcome is unknown.
    public static let timedOut = BusFailure(code: 124, "The request was not answered in time.")
    /// The replica died with the request, and repeating it is not safe.
    public static let outcomeUnknown = BusFailure(
        code: 124, "The request was interrupted; whether it was carried out is not known.")

    /// Whether it is a fault of the suite rather than of the request: 1, 2 or 124.
    var isFault: Bool { [1, 2, 124].contains(failure.code) }

    /// A lane became stuck on the request; the request is not sent to another lane.
    static let stalled = BusFailure(code: 124, "The request took too long.")

    /// The code and the public text.
    public var description: String { "\(failure.code): \(failure.message)" }
}
