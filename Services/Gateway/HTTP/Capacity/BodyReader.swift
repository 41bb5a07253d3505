import Compression
import HTTPTypes
import ParseProtocol

/// Reads request bodies within limits: on each body, on all bodies, and on a network's bodies. Small bodies are not
/// counted, so that log-ins and saves go on while other clients send many large bodies.
struct BodyReader: Sendable {
    /// Bytes of the JSON around a tunnelled file, at most.
    static let tunnelBytesMax = 64 << 10

    private let budget: ByteBudget

    init(_ settings: CapacitySettings) { budget = settings.bodies() }

    /// A body, and the memory that it takes until the last copy of this value is gone.
    struct Body: Sendable {
        let bytes: [UInt8]
        let hold: ByteHold
    }

    /// The client has ended the stream within the body.
    struct Interrupted: Error {}

    /// Whether a request announces a small body, which never waits in the queue. The gateway reads it before it checks
    /// the client.
    static func isQuick(_ headers: HTTPFields) -> Bool {
        guard !headers.contains(.transferEncoding), !headers.contains(.contentEncoding) else { return false }
        guard let text = headers.value(.contentLength) else { return true }
        return Int(text).map { $0 <= BodyQueue.quickBytes } ?? false
    }

    /// Reads a body.
    /// - Parameters:
    ///   - bytesMax: the limit on this body.
    ///   - tooLarge: the error for a larger body.
    /// - Throws: `tooLarge`; `.requestLimitExceeded` (155) when there is no memory for it now. The server then reads
    ///   and drops the rest: many clients read a response only when they have sent everything.
    func read(
        _ request: Request, bytesMax: Int, for holder: ByteShares.Holder, tooLarge: any Error
    ) async throws -> Body {
        let length = request.headers.value(.contentLength).flatMap(Int.init)
        guard length ?? 0 <= bytesMax else { throw tooLarge }
        let hold = budget.hold(for: holder)
        var bytes: [UInt8] = []
        for try await buffer in request.body {
            let count = bytes.count + buffer.readableBytes
            guard count <= bytesMax else { throw tooLarge }
            if count > CapacitySettings.smallBytes {
                // The first bytes are counted when the body becomes large.
                let counted = bytes.count > CapacitySettings.smallBytes ? bytes.count : 0
                guard hold.take(count - counted) else {
                    await BodyScheduler.delay()
                    throw Self.full
                }
                // Once: untouched pages cost nothing, and appending would copy the body repeatedly.
                if counted == 0, let length { bytes.reserveCapacity(length) }
            }
            bytes.append(contentsOf: buffer.readableBytesView)
        }
        guard length == nil || length == bytes.count else { throw Interrupted() }
        return Body(bytes: bytes, hold: hold)
    }

    /// Inflates a body into new memory.
    /// - Throws: `.invalidJSON` (107) for a body that does not fit its encoding; `Inflater.Problem` when it has more
    ///   than `bytesMax` bytes or there is no memory for it now.
    func inflated(_ body: Body, _ encoding: ContentEncoding, bytesMax: Int) throws -> Body {
        let hold = budget.hold(for: body.hold.holder)
        var counted = 0
        do throws(Inflater.Problem) {
            let bytes = try Inflater.unpack(body.bytes, encoding, bytesMax: bytesMax) { count in
                guard count > CapacitySettings.smallBytes else { return true }
                defer { counted = count }
                return hold.take(count - counted)
            }
            return Body(bytes: bytes, hold: hold)
        } catch .malformed {
            throw ParseError(.invalidJSON, "The body is not valid \(encoding.rawValue).")
        }
    }

    /// Takes memory for a message that has arrived.
    /// - Throws: `.requestLimitExceeded` (155) when there is none.
    func hold(_ bytes: [UInt8], for holder: ByteShares.Holder) throws(ParseError) -> ByteHold {
        let hold = budget.hold(for: holder)
        guard bytes.count <= CapacitySettings.smallBytes || hold.take(bytes.count) else { throw Self.full }
        return hold
    }

    static let full = ParseError.tooManyRequests(
        "Too many large requests are under way. Try again later.", retryAfterSeconds: 5)
}
