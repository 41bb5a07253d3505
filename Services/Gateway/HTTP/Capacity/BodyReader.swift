import HTTPTypes
import ParseProtocol

/// Reads request bodies within bounds: of each, of all, and of all from one network. Small bodies are not counted, so
/// that log-ins and saves go on while somebody fills the room with large ones.
struct BodyReader: Sendable {
    /// Bytes that the JSON around a tunnelled file may have beside it.
    static let tunnelBytesMax = 64 << 10

    private let budget: ByteBudget

    init(_ settings: CapacitySettings) { budget = settings.bodies() }

    /// A body, and the room it takes until the last copy of this is gone.
    struct Body: Sendable {
        let bytes: [UInt8]
        let hold: ByteHold
    }

    /// A client that went away in the middle.
    struct Interrupted: Error {}

    /// Whether a request says that its body is small enough to be read before anything is known of who sends it.
    static func isSmall(_ headers: HTTPFields) -> Bool {
        guard !headers.contains(.transferEncoding) else { return false }
        guard let text = headers.value(.contentLength) else { return true }
        return Int(text).map { $0 <= BodyTurns.quickBytes } ?? false
    }

    /// - Parameters:
    ///   - bytesMax: of this body.
    ///   - tooLarge: said when it has more.
    /// - Throws: `tooLarge`, `.requestLimitExceeded` (155) when there is no room for it now. What the client still
    ///   sends is then read and dropped by the server: many clients look for an answer only when they have sent
    ///   everything.
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
                // The small beginning is counted with the first part that makes it large.
                let counted = bytes.count > CapacitySettings.smallBytes ? bytes.count : 0
                guard hold.take(count - counted) else {
                    await BodyGate.delay()
                    throw Self.full
                }
                // Memory that is reserved and not written to is not taken; growing step by step would copy what is
                // there.
                if counted == 0, let length { bytes.reserveCapacity(length) }
            }
            bytes.append(contentsOf: buffer.readableBytesView)
        }
        guard length == nil || length == bytes.count else { throw Interrupted() }
        return Body(bytes: bytes, hold: hold)
    }

    static let full = ParseError.tooManyRequests(
        "Too many large requests are under way. Try again later.", retryAfterSeconds: 5)
}
