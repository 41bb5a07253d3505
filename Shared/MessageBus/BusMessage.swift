import Messages
import SwiftProtobuf

/// One message of the bus: the envelope, the body, and documents that travel as they are.
/// Frames and limits are described in Shared/Messages/README.md.
public struct BusMessage: Sendable {
    /// Kind, sender's rights, deadline and all else that is not the content.
    public var envelope: Envelope
    /// The encoded message of the kind; empty for a reply that failed.
    public var body: [UInt8]
    /// Parse objects as JSON texts, at most `documentsMax`.
    public var documents: [[UInt8]]

    /// A message of these parts; limits are checked when it is encoded.
    public init(envelope: Envelope, body: [UInt8] = [], documents: [[UInt8]] = []) {
        self.envelope = envelope
        self.body = body
        self.documents = documents
    }

    /// The version of the frames that this build speaks.
    public static let version: UInt32 = 1
    /// A batch has at most 200 changes and a fetch brings at most 1,000 objects; past this a message is refused.
    public static let documentsMax = 4096
    /// ZeroMQ cuts the connection of a peer that sends more. The store refuses answers half as large.
    public static let frameBytesMax: Int64 = 64 << 20

    /// The reasons for which frames are not a message.
    public enum Malformed: Error, Equatable {
        case frameCount(Int)
        case envelope
        case version(UInt32)
    }

    /// Reads the frames of a message, without a routing id in front.
    /// - Throws: `Malformed`. An envelope of another version is reported with its correlation by `readableEnvelope`.
    public init(frames: ArraySlice<[UInt8]>) throws(Malformed) {
        guard frames.count >= 2, frames.count <= 2 + Self.documentsMax else { throw .frameCount(frames.count) }
        guard var envelope = Self.readableEnvelope(frames) else { throw .envelope }
        guard envelope.version == Self.version else { throw .version(envelope.version) }
        if envelope.form == .request { envelope.takeDeadline() }
        self.init(envelope: envelope, body: frames[frames.startIndex + 1], documents: Array(frames.dropFirst(2)))
    }

    /// The envelope whatever its version, for an error reply that reaches the right request.
    static func readableEnvelope(_ frames: ArraySlice<[UInt8]>) -> Envelope? {
        frames.first.flatMap { try? Envelope(serializedBytes: $0) }
    }

    /// The frames to send.
    /// - Throws: never for envelopes built by this package; SwiftProtobuf declares it.
    var frames: [[UInt8]] {
        get throws {
            var frames: [[UInt8]] = []
            frames.reserveCapacity(2 + documents.count)
            frames.append(try envelope.serializedBytes())
            frames.append(body)
            frames.append(contentsOf: documents)
            return frames
        }
    }
}

extension Envelope {
    /// The service that a kind names: `catalog` of `catalog.find.v1`.
    public var destination: Substring { kind.prefix { $0 != "." } }

    /// Whether the request may be carried out twice: a read, or a change that is recognised by its key.
    var isRepeatable: Bool { !writes || !idempotencyKey.isEmpty }

    /// The envelope of the answer to this request.
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

/// A request that was not carried out as asked: the `Failure` of the reply.
public struct BusFailure: Error, Sendable, CustomStringConvertible {
    /// The code, the public text and whether a repetition may help.
    public let failure: Failure

    /// Microseconds of processor time that were used before it failed.
    public let used: Int64

    /// A failure that came with a reply. `used` is in microseconds of processor time.
    public init(_ failure: Failure, used: Int64 = 0) {
        self.failure = failure
        self.used = used
    }

    /// A failure of our own, before any processor time was used. `code` is a Parse error code, `message` public text.
    public init(code: Int32, _ message: String, retriable: Bool = false) {
        used = 0
        failure = Failure.with {
            $0.code = code
            $0.message = message
            $0.retriable = retriable
        }
    }

    /// The receiver knows no message of this kind: it is of an earlier release, or nobody answers such.
    public static func unknown(kind: String) -> BusFailure { BusFailure(code: unknownKind, "Unknown kind \(kind).") }
    /// Whether the receiver knows no message of the kind.
    public var isOfUnknownKind: Bool { failure.code == Self.unknownKind }
    /// Parse's code for a command that is not available.
    private static let unknownKind: Int32 = 108

    /// Nobody can answer now; certainly not carried out. HTTP clients see 503 with Retry-After.
    public static func unavailable(_ why: String) -> BusFailure { BusFailure(code: 2, why, retriable: true) }
    /// A share is used up; certainly not carried out, and not repeated by the broker. HTTP clients see 429 with
    /// Retry-After.
    public static func tooManyRequests(_ why: String, retryAfterSeconds: Int) -> BusFailure {
        BusFailure(
            Failure.with {
                $0.code = 155
                $0.message = why
                $0.retryAfter = UInt32(clamping: max(1, retryAfterSeconds))
            })
    }
    /// The deadline passed; whether it was carried out is not known.
    public static let timedOut = BusFailure(code: 124, "The request was not answered in time.")
    /// The replica died while it had the request, and repeating it is not safe.
    public static let outcomeUnknown = BusFailure(
        code: 124, "The request was interrupted; whether it was carried out is not known.")

    /// A lane stopped working on the request; it is not tried elsewhere.
    static let stalled = BusFailure(code: 124, "The request took too long.")

    /// The code and the public text.
    public var description: String { "\(failure.code): \(failure.message)" }
}
