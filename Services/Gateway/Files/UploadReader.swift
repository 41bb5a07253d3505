import Hummingbird
import ParseProtocol
import Synchronization

/// Reads the bodies of uploads. They may be larger than JSON bodies, so that all of them together are bounded too.
final class UploadReader: Sendable {
    /// Bytes of uploads that are under way: 25 files of 10 MiB. A slow client only counts with what it has sent.
    static let bytesMax = 256 << 20
    /// What the JSON around a tunnelled file may have beside it.
    private static let tunnelBytesMax = 64 << 10

    /// What is read of a refused upload before it is answered nevertheless.
    private static let discardedBytesMax = 128 << 20

    private let fileBytesMax: Int
    private let taken = Atomic<Int>(0)

    init(fileBytesMax: Int) { self.fileBytesMax = fileBytesMax }

    /// Reads a body and hands it to `answer`; only then its bytes no longer count.
    /// - Parameter isTunnelled: whether the file may be in a JSON body, which is longer than the file by a third.
    /// - Throws: 129 when it is too large, 2 when too many uploads are under way.
    func read<Answer>(
        _ request: Request, isTunnelled: Bool, _ answer: ([UInt8]) async throws -> Answer
    ) async throws -> Answer {
        let limit = isTunnelled ? fileBytesMax / 3 * 4 + Self.tunnelBytesMax : fileBytesMax
        let length = request.headers[.contentLength].flatMap(Int.init) ?? 0
        var refusal: ParseError? = length > limit ? .fileTooLarge(fileBytesMax) : nil
        var body: [UInt8] = []
        var counted = 0
        var discarded = 0
        defer { taken.wrappingSubtract(counted, ordering: .relaxed) }
        for try await buffer in request.body {
            if refusal == nil, body.count + buffer.readableBytes > limit { refusal = .fileTooLarge(fileBytesMax) }
            if refusal == nil {
                counted += buffer.readableBytes
                if taken.wrappingAdd(buffer.readableBytes, ordering: .relaxed).newValue > Self.bytesMax {
                    refusal = ParseError(.serviceUnavailable, "Too many uploads are under way. Try again later.")
                }
            }
            if refusal == nil {
                body.append(contentsOf: buffer.readableBytesView)
            } else {
                // Many clients look for an answer only when they have sent everything.
                body = []
                discarded += buffer.readableBytes
                if discarded > Self.discardedBytesMax { break }
            }
        }
        if let refusal { throw refusal }
        return try await answer(body)
    }
}
