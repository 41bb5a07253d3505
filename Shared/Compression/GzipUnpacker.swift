import CZlib

/// Unpacks gzip in steps, for files that must not be in memory as a whole. Several members in a row are one text.
package final class GzipUnpacker {
    package enum Problem: Error {
        case malformed, noMemory
    }

    // zlib stores the address of the stream, so that it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    /// Whether the input so far ends with the end of a member.
    package private(set) var isWhole = true

    package init() throws(Problem) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Adding 16 to the window's bits selects gzip's header.
        guard satchel_inflate_start(stream, 15 + 16) == Z_OK else { throw .noMemory }
    }

    /// A copy that continues at the same place. Takes about 50 KB.
    package init(copying other: GzipUnpacker) throws(Problem) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        isWhole = other.isWhole
        guard inflateCopy(stream, other.stream) == Z_OK else { throw .noMemory }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Unpacks more of the input.
    /// - Parameter position: the first byte that was not read yet; advances.
    /// - Returns: at most `countMax` bytes; none when the input is used up.
    package func step(_ input: [UInt8], at position: inout Int, countMax: Int) throws(Problem) -> [UInt8] {
        var isMalformed = false
        var left = max(0, input.count - position)
        let output = [UInt8](unsafeUninitializedCapacity: countMax) { buffer, count in
            input.withUnsafeBufferPointer { bytes in
                // zlib only reads its input, although its type says otherwise.
                stream.pointee.next_in = bytes.baseAddress.map {
                    UnsafeMutablePointer(mutating: $0 + (bytes.count - left))
                }
                stream.pointee.avail_in = UInt32(clamping: left)
                stream.pointee.next_out = buffer.baseAddress
                stream.pointee.avail_out = UInt32(clamping: countMax)
                while stream.pointee.avail_out > 0, !isWhole || stream.pointee.avail_in > 0 {
                    if isWhole { inflateReset(stream) }
                    let result = inflate(stream, Z_NO_FLUSH)
                    isWhole = result == Z_STREAM_END
                    if result == Z_BUF_ERROR { break }  // Needs more input.
                    isMalformed = result != Z_OK && result != Z_STREAM_END
                    if isMalformed { break }
                }
                left = Int(stream.pointee.avail_in)
            }
            count = countMax - Int(stream.pointee.avail_out)
        }
        guard !isMalformed else { throw .malformed }
        position = input.count - left
        return output
    }
}
