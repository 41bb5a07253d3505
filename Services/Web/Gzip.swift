import CZlib

/// Compresses the pages' files (RFC 1952), once at startup.
enum Gzip {
    /// - Returns: the bytes at zlib's best compression; nil when it has no memory.
    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        guard let inputCount = UInt32(exactly: bytes.count) else { return nil }
        // zlib stores the address of the stream, so that it must not move.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        // Adding 16 to the window's bits selects gzip's header.
        guard satchel_deflate_start(stream, Z_BEST_COMPRESSION, 15 + 16) == Z_OK else { return nil }
        defer { deflateEnd(stream) }
        let capacity = Int(deflateBound(stream, UInt(bytes.count)))
        var input = bytes
        return input.withUnsafeMutableBufferPointer { input in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = inputCount
            var isWhole = false
            let output = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
                stream.pointee.next_out = buffer.baseAddress
                stream.pointee.avail_out = UInt32(clamping: capacity)
                isWhole = deflate(stream, Z_FINISH) == Z_STREAM_END
                count = capacity - Int(stream.pointee.avail_out)
            }
            return isWhole ? output : nil
        }
    }
}
