import GatewayService
import NIOCore
import NIOWebSocket
import Testing

/// Hand-written frames, following RFC 6455, section 5.2.
@Suite struct LiveFrameTests {
    @Test(
        arguments: [
            (0, [0]), (1, [1]), (125, [125]), (126, [126, 0, 126]), (65_535, [126, 255, 255]),
            (65_536, [127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])])
    func theHeadSaysWhatFollows(count: Int, length: [UInt8]) {
        let content = [UInt8](repeating: 0x61, count: count)
        var plain = ByteBuffer(bytes: content)
        var roomy = ByteBuffer()
        LiveFrame.leaveRoom(in: &roomy)
        roomy.writeBytes(content)
        for (opcode, first) in [(WebSocketOpcode.text, UInt8(0x81)), (.connectionClose, 0x88), (.pong, 0x8A)] {
            for buffer in [plain, roomy] {
                let frame = LiveFrame.bytes(opcode, buffer)
                #expect(Array(frame.readableBytesView) == [first] + length + content)
            }
        }
        // The original buffer is unchanged for its other holders.
        #expect(plain.readBytes(length: count + 1) == nil && plain.readBytes(length: count) == content)
        #expect(Array(roomy.readableBytesView) == content)
    }
}
