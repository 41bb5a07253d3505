import CZlib

/// Inflates a gzip file in pieces, in bounded memory. Members that follow each other are one file (RFC 1952).
package final class GunzipStream {
    private let stream: UnsafeMutablePointer<z_stream>
    private var input: [UInt8] = []
    private var position = 0
    /// Whether a member has begun and not ended.
    private var isInMember = false
    /// Whether zlib may have more output without more input.
    private var hasPendingOutput = false

    private static let pieceBytes = 256 << 10

    /// - Throws: `Inflater.Problem.noRoom` when zlib has no memory.
    package init() throws(Inflater.Problem) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard satchel_inflate_start(stream, 15 + 16) == Z_OK else { throw .noRoom }
    }

    /// A copy that continues at the same place, with about 50 KB of zlib's memory and the input that is not read yet.
    /// - Throws: `Inflater.Problem.noRoom` when zlib has no memory.
    package init(copying other: GunzipStream) throws(Inflater.Problem) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        input = Array(other.input[other.position...])
        isInMember = other.isInMember
        hasPendingOutput = other.hasPendingOutput
        guard inflateCopy(stream, other.stream) == Z_OK else { throw .noRoom }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// The next bytes; none at the end.
    /// - Parameter more: the next compressed bytes; none at the end.
    /// - Throws: `Inflater.Problem.malformed` for other content and for a file that is cut off; errors of `more`.
    package func next(from more: () throws -> [UInt8]) throws -> [UInt8] {
        while true {
            if position == input.count, !hasPendingOutput {
                input = try more()
                position = 0
                if input.isEmpty {
                    guard !isInMember else { throw Inflater.Problem.malformed }
                    return []
                }
            }
            let piece = try step()
            if !piece.isEmpty { return piece }
        }
    }

    private func step() throws(Inflater.Problem) -> [UInt8] {
        let start = position
        if start < input.count { isInMember = true }
        var result = Z_STREAM_ERROR
        let piece = input.withUnsafeMutableBufferPointer { input in
            stream.pointee.next_in = input.baseAddress.map { $0 + start }
            stream.pointee.avail_in = UInt32(input.count - start)
            return [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, count in
                stream.pointee.next_out = buffer.baseAddress
                stream.pointee.avail_out = UInt32(Self.pieceBytes)
                result = CZlib.inflate(stream, Z_NO_FLUSH)
                count = Self.pieceBytes - Int(stream.pointee.avail_out)
            }
        }
        position = input.count - Int(stream.pointee.avail_in)
        hasPendingOutput = piece.count == Self.pieceBytes
        switch result {
        case Z_OK: break
        case Z_BUF_ERROR where position == input.count: break
        case Z_STREAM_END:
            isInMember = false
            hasPendingOutput = false
            guard inflateReset(stream) == Z_OK else { throw .malformed }
        default: throw .malformed
        }
        return piece
    }
}
