import CZlib

/// Compresses responses and the pages' files (RFC 1952).
package enum Gzip {
    /// A file, compressed once at startup.
    /// - Returns: the bytes at zlib's best compression; nil when they are larger, or when zlib has no memory.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        bytes.withUnsafeBytes {
            compressed($0, level: Z_BEST_COMPRESSION, windowBits: 15, memoryLevel: 9, bytesMax: bytes.count)
        }
    }

    /// A response, compressed for one client at zlib's fastest level.
    /// - Returns: nil when less than half would be saved, or when zlib has no memory.
    package static func quick(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        // For few bytes, the usual tables of 256 KB take longer to clear than the bytes to compress.
        let isSmall = bytes.count <= 8 << 10
        return compressed(
            bytes, level: Z_BEST_SPEED, windowBits: isSmall ? 13 : 15, memoryLevel: isSmall ? 6 : 8,
            bytesMax: bytes.count / 2)
    }

    private static func compressed(
        _ bytes: UnsafeRawBufferPointer, level: Int32, windowBits: Int32, memoryLevel: Int32, bytesMax: Int
    ) -> [UInt8]? {
        guard let inputCount = UInt32(exactly: bytes.count), let start = bytes.baseAddress else { return nil }
        // zlib stores the address of the stream, so that it must not move.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        // Adding 16 to the window's bits selects gzip's header.
        guard satchel_deflate_start(stream, level, windowBits + 16, memoryLevel) == Z_OK else { return nil }
        defer { deflateEnd(stream) }
        // zlib only reads its input, although its type says otherwise.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = inputCount
        var isWhole = false
        let output = [UInt8](unsafeUninitializedCapacity: bytesMax) { buffer, count in
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = UInt32(clamping: bytesMax)
            isWhole = deflate(stream, Z_FINISH) == Z_STREAM_END
            count = bytesMax - Int(stream.pointee.avail_out)
        }
        return isWhole ? output : nil
    }
}
