import Hummingbird
import NIOCore

/// Sends answers. A large one goes out in parts, each when the client has taken most of the one before, and is held
/// until the last: the client's own pace decides how long it takes room, and there is a floor for that.
enum AnswerWriter {
    /// Larger than what is lost between two parts on a slow line, and small beside the answers that are bounded.
    private static let partBytes = 128 << 10
    /// Bytes a second below which an answer is too slow once it was given `stallSeconds`.
    private static let bytesPerSecondMin = 16 << 10

    static func responseBody(_ body: [UInt8], _ hold: ByteHold?, _ settings: CapacitySettings) -> ResponseBody {
        guard body.count > CapacitySettings.smallBytes else { return ResponseBody(byteBuffer: ByteBuffer(bytes: body)) }
        return ResponseBody(contentLength: body.count) { writer in
            defer { withExtendedLifetime(hold) {} }
            let start = ContinuousClock.now
            var position = 0
            while position < body.count {
                let end = min(position + partBytes, body.count)
                try await writer.write(ByteBuffer(bytes: body[position..<end]))
                position = end
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                guard
                    seconds < Double(settings.stallSeconds)
                        || Double(position) / seconds >= Double(bytesPerSecondMin)
                else { throw TooSlow() }
            }
            try await writer.finish(nil)
        }
    }

    private struct TooSlow: Error {}
}
