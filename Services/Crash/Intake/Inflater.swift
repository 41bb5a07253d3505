import CZlib

/// The compressions that a report's body may have (RFC 9110 section 8.4.1). Brotli and Zstandard are refused; SDKs then
/// send gzip.
package enum ContentEncoding: String, Sendable {
    case identity
    case gzip
    case deflate

    /// Nil for one that is not supported.
    package init?(header: String) {
        switch header.lowercased().filter({ $0 != " " }) {
        case "", "identity": self = .identity
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        default: return nil
        }
    }
}

/// Unpacks what clients compressed, never further than its limits.
package enum Inflater {
    package enum Problem: Error { case malformed, tooLarge }

    /// Bytes that are inflated at a time.
    private static let stepBytes = 64 << 10
    /// Text of stack traces shrinks to a tenth or twentieth. Zlib's best is a thousandth, for zeros: a bomb.
    private static let ratioMax = 200
    /// Below this many bytes a high ratio does no harm: a short report may repeat one frame.
    private static let ratioFreeBytes = 1 << 20

    /// - Parameter bytesMax: of the result.
    /// - Throws: `Problem`; memory stays within the limit and one step.
    package static func unpack(_ bytes: [UInt8], _ encoding: ContentEncoding, bytesMax: Int) throws -> [UInt8] {
        switch encoding {
        case .identity:
            guard bytes.count <= bytesMax else { throw Problem.tooLarge }
            return bytes
        case .gzip: return try inflate(bytes, windowBits: 15 + 16, bytesMax)
        case .deflate:
            // The name means zlib's format, but some clients send the bare one without its header of two bytes.
            return try inflate(bytes, windowBits: isZlib(bytes) ? 15 : -15, bytesMax)
        }
    }

    /// RFC 1950: method 8, and the two bytes are a multiple of 31.
    private static func isZlib(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 2 else { return false }
        return bytes[0] & 0x0F == 8 && (Int(bytes[0]) << 8 | Int(bytes[1])).isMultiple(of: 31)
    }

    private static func inflate(_ bytes: [UInt8], windowBits: Int32, _ bytesMax: Int) throws -> [UInt8] {
        guard let inputCount = UInt32(exactly: bytes.count) else { throw Problem.tooLarge }
        // zlib keeps the address of the stream, so it must not move.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        guard satchel_inflate_start(stream, windowBits) == Z_OK else { throw Problem.malformed }
        defer { inflateEnd(stream) }
        var input = bytes
        var output: [UInt8] = []
        return try input.withUnsafeMutableBufferPointer { input in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = inputCount
            while true {
                let result = step(stream, &output)
                if output.count > bytesMax { throw Problem.tooLarge }
                if output.count > ratioFreeBytes, output.count / max(1, bytes.count) > ratioMax {
                    throw Problem.tooLarge
                }
                switch result {
                case Z_STREAM_END:
                    guard stream.pointee.avail_in == 0 else { throw Problem.malformed }
                    return output
                case Z_OK: continue
                default: throw Problem.malformed  // Z_BUF_ERROR as well: the input ends in the middle.
                }
            }
        }
    }

    /// Appends up to `stepBytes` and returns zlib's result code.
    private static func step(_ stream: UnsafeMutablePointer<z_stream>, _ output: inout [UInt8]) -> Int32 {
        var result = Z_STREAM_ERROR
        let chunk = [UInt8](unsafeUninitializedCapacity: stepBytes) { buffer, count in
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = UInt32(stepBytes)
            result = CZlib.inflate(stream, Z_NO_FLUSH)
            count = stepBytes - Int(stream.pointee.avail_out)
        }
        output += chunk
        return result
    }
}
