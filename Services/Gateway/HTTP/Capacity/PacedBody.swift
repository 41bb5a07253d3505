import NIOCore

/// Sends a large body in parts, each when the client has taken most of the one before. The body's memory is held until
/// the last part; therefore a client has to read at a minimum pace.
enum PacedBody {
    /// Large enough to keep a slow line busy between two parts, and small beside the responses that are limited.
    private static let partBytes = 128 << 10
    /// The minimum pace in bytes a second, once a response has taken `stallSeconds`.
    private static let bytesPerSecondMin = 16 << 10

    static func responseBody<Bytes: RandomAccessCollection<UInt8> & Sendable>(
        _ body: Bytes, _ hold: ByteHold?, _ settings: CapacitySettings
    ) -> ResponseBody where Bytes.Index == Int {
        guard body.count > CapacitySettings.smallBytes else { return .whole(ByteBuffer(bytes: body)) }
        return .stream(length: body.count) { writer in
            defer { withExtendedLifetime(hold) {} }
            var sender = Sender(settings)
            try await sender.send(body, through: writer)
        }
    }

    /// Sends the bytes of one response, whole or page by page, and checks the client's pace.
    struct Sender {
        private let stallSeconds: Double
        private var sent = 0
        /// The time that the client took, without the time for making the bytes.
        private var seconds = 0.0

        init(_ settings: CapacitySettings) { stallSeconds = Double(settings.stallSeconds) }

        /// Returns when the client has taken most of the bytes.
        /// - Throws: when it is too slow or has gone.
        mutating func send<Bytes: RandomAccessCollection<UInt8>>(
            _ bytes: Bytes, through writer: ResponseBodyWriter
        ) async throws where Bytes.Index == Int {
            var position = bytes.startIndex
            while position < bytes.endIndex {
                let end = min(position + PacedBody.partBytes, bytes.endIndex)
                let start = ContinuousClock.now
                try await writer.write(ByteBuffer(bytes: bytes[position..<end]))
                seconds += (ContinuousClock.now - start) / .seconds(1)
                sent += end - position
                position = end
                guard seconds < stallSeconds || Double(sent) / seconds >= Double(PacedBody.bytesPerSecondMin) else {
                    throw TooSlow()
                }
            }
        }
    }

    private struct TooSlow: Error {}
}
