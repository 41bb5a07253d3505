import CZlib

/// The compression of the files of pages (RFC 1952), done once when the gateway starts.
enum Gzip {
    /// - Returns: the bytes as small as zlib makes them; nil when it has no memory for that.
    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        guard let inputCount = UInt32(exactly: bytes.count) else { return nil }
        // zlib keeps the address of the stream, so it must not move.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        // 16 more than the window's bits stands for gzip's header.
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
