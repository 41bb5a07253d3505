import NIOCore
import NIOWebSocket

/// The server's frames as bytes (RFC 6455, section 5.2): each complete, unmasked and in one piece of memory.
///
/// NIO's encoder sends the head as a second piece, because the caller also holds the content.
package enum LiveFrame {
    /// Bytes of the longest head.
    package static let headMax = 10

    /// Reserves room for a head at the front of an empty buffer.
    package static func leaveRoom(in buffer: inout ByteBuffer) {
        buffer.writeRepeatingByte(0, count: headMax)
        buffer.moveReaderIndex(forwardBy: headMax)
    }

    /// A frame with this content. A head is written into the room that `leaveRoom` has reserved, if there is any.
    package static func bytes(_ opcode: WebSocketOpcode, _ content: consuming ByteBuffer) -> ByteBuffer {
        let count = content.readableBytes
        let headCount = count < 126 ? 2 : count <= Int(UInt16.max) ? 4 : headMax
        let start = content.readerIndex - headCount
        guard start >= 0 else {
            var roomy = ByteBuffer()
            roomy.reserveCapacity(headMax + count)
            leaveRoom(in: &roomy)
            roomy.writeImmutableBuffer(content)
            return bytes(opcode, roomy)
        }
        content.setInteger(0x80 | UInt8(webSocketOpcode: opcode), at: start)
        switch headCount {
        case 2: content.setInteger(UInt8(count), at: start + 1)
        case 4:
            content.setInteger(UInt8(126), at: start + 1)
            content.setInteger(UInt16(count), at: start + 2)
        default:
            content.setInteger(UInt8(127), at: start + 1)
            content.setInteger(UInt64(count), at: start + 2)
        }
        content.moveReaderIndex(to: start)
        return content
    }
}
