import CZlib

/// The content encodings accepted for request bodies (RFC 9110 section 8.4.1). Brotli and Zstandard are refused;
/// clients then use gzip.
package enum ContentEncoding: String, Sendable {
    case identity
    case gzip
    case deflate

    /// Nil for an unsupported encoding.
    package init?(header: String) {
        switch header.lowercased().filter({ $0 != " " }) {
        case "", "identity": self = .identity
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        default: return nil
        }
    }
}

/// Decompresses client bodies within limits.
package enum Inflater {
    package enum Problem: Error {
        case malformed, tooLarge
        /// The caller has no memory left for the result.
        case noRoom
    }

    /// Bytes decompressed per step.
    private static let stepBytes = 64 << 10
    /// Maximum compression ratio. Stack traces and JSON reach 10 to 20. A zip bomb of zeros reaches zlib's maximum of
    /// 1,000.
    private static let ratioMax = 200
    /// Below this size any ratio is accepted: a short report may repeat one frame.
    private static let ratioFreeBytes = 1 << 20

    /// Maximum decompressed size of `count` bytes.
    package static func limit(for count: Int) -> Int { max(ratioFreeBytes, count * ratioMax) }

    /// - Parameters:
    ///   - bytesMax: limit of the result.
    ///   - reserve: called with each new size of the result before it grows; false stops the decompression.
    /// - Throws: `Problem`; memory use is bounded by the limit plus one step.
    package static func unpack(
        _ bytes: [UInt8], _ encoding: ContentEncoding, bytesMax: Int, reserve: (Int) -> Bool = { _ in true }
    ) throws(Problem) -> [UInt8] {
        switch encoding {
        case .identity:
            guard bytes.count <= bytesMax else { throw .tooLarge }
            return bytes
        case .gzip: return try inflate(bytes, windowBits: 15 + 16, bytesMax, reserve)
        case .deflate:
            // The name stands for the zlib format, but some clients send raw deflate data without the two-byte header.
            return try inflate(bytes, windowBits: isZlib(bytes) ? 15 : -15, bytesMax, reserve)
        }
    }

    /// RFC 1950: method 8, and the two bytes are a multiple of 31.
    private static func isZlib(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 2 else { return false }
        return bytes[0] & 0x0F == 8 && (Int(bytes[0]) << 8 | Int(bytes[1])).isMultiple(of: 31)
    }

    private static func inflate(
        _ bytes: [UInt8], windowBits: Int32, _ bytesMax: Int, _ reserve: (Int) -> Bool
    ) throws(Problem) -> [UInt8] {
        guard let inputCount = UInt32(exactly: bytes.count) else { throw .tooLarge }
        let bytesMax = min(bytesMax, limit(for: bytes.count))
        // zlib keeps the address of the stream, so it must not move.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        guard satchel_inflate_start(stream, windowBits) == Z_OK else { throw .malformed }
        defer { inflateEnd(stream) }
        var input = bytes
        return try input.withUnsafeMutableBufferPointer { input throws(Problem) in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = inputCount
            var output: [UInt8] = []
            while true {
                let (chunk, result) = step(stream)
                guard output.count + chunk.count <= bytesMax else { throw .tooLarge }
                guard reserve(output.count + chunk.count) else { throw .noRoom }
                output += chunk
                switch result {
                case Z_STREAM_END:
                    guard stream.pointee.avail_in == 0 else { throw .malformed }
                    return output
                case Z_OK: continue
                default: throw .malformed  // Also Z_BUF_ERROR: truncated input.
                }
            }
        }
    }

    /// The next bytes, at most `stepBytes`, and zlib's result code.
    private static func step(_ stream: UnsafeMutablePointer<z_stream>) -> (chunk: [UInt8], result: Int32) {
        var result = Z_STREAM_ERROR
        let chunk = [UInt8](unsafeUninitializedCapacity: stepBytes) { buffer, count in
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = UInt32(stepBytes)
            result = CZlib.inflate(stream, Z_NO_FLUSH)
            count = stepBytes - Int(stream.pointee.avail_out)
        }
        return (chunk, result)
    }
}
