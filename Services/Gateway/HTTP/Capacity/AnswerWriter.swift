import NIOCore

/// Sends answers. A large one goes out in parts, each when the client has taken most of the one before, and is held
/// until the last: the client's own pace decides how long it takes room, and there is a floor for that.
enum AnswerWriter {
    /// Larger than what is lost between two parts on a slow line, and small beside the answers that are bounded.
    private static let partBytes = 128 << 10
    /// Bytes a second below which an answer is too slow once it was given `stallSeconds`.
    private static let bytesPerSecondMin = 16 << 10

    static func responseBody(_ body: [UInt8], _ hold: ByteHold?, _ settings: CapacitySettings) -> ResponseBody {
        guard body.count > CapacitySettings.smallBytes else { return .whole(ByteBuffer(bytes: body)) }
        return .stream(length: body.count) { writer in
            defer { withExtendedLifetime(hold) {} }
            var sender = Sender(settings)
            try await sender.send(body, through: writer)
        }
    }

    /// Sends the bytes of one answer, all at once or a page after the other, and watches the client's pace.
    struct Sender {
        private let stallSeconds: Double
        private var sent = 0
        /// What the client took for it; not what the bytes took to come into being.
        private var seconds = 0.0

        init(_ settings: CapacitySettings) { stallSeconds = Double(settings.stallSeconds) }

        /// Returns when the client has taken most of the bytes.
        /// - Throws: when it is too slow or has gone.
        mutating func send(_ bytes: [UInt8], through writer: ResponseBodyWriter) async throws {
            var position = 0
            while position < bytes.count {
                let end = min(position + AnswerWriter.partBytes, bytes.count)
                let start = ContinuousClock.now
                try await writer.write(ByteBuffer(bytes: bytes[position..<end]))
                seconds += (ContinuousClock.now - start) / .seconds(1)
                sent += end - position
                position = end
                guard seconds < stallSeconds || Double(sent) / seconds >= Double(AnswerWriter.bytesPerSecondMin) else {
                    throw TooSlow()
                }
            }
        }
    }

    private struct TooSlow: Error {}
}
