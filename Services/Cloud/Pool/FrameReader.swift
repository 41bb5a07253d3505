/// The frames of the socket between `cloud` and a Node process: four bytes of length, big-endian, and a JSON text.
package struct FrameReader {
    /// As much as a frame of the bus.
    package static let bytesMax = 64 << 20

    /// Bytes of an object that a frame has room for beside the members in front of it.
    package static let textMax = bytesMax - 1024

    /// A frame that says it is longer than a frame may be. What follows it cannot be read.
    package struct TooLarge: Error, Equatable {}

    private var buffer: [UInt8] = []
    private var start = 0

    package init() {}

    /// Bytes as they arrived.
    package mutating func append(_ bytes: some Collection<UInt8>) {
        if start > 0, start == buffer.count || start > 1 << 20 {
            buffer.removeFirst(start)
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The text of the next frame; nil until it is complete.
    /// - Throws: `TooLarge`.
    package mutating func next() throws(TooLarge) -> [UInt8]? {
        guard buffer.count - start >= 4 else { return nil }
        let count = buffer[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        guard count <= Self.bytesMax else { throw TooLarge() }
        guard buffer.count - start - 4 >= count else { return nil }
        defer { start += 4 + count }
        return Array(buffer[start + 4..<start + 4 + count])
    }

    /// A text as a frame.
    package static func frame(_ text: [UInt8]) -> [UInt8] {
        let count = UInt32(text.count)
        return [UInt8(count >> 24), UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)] + text
    }

    /// A frame of some members in front of those of an object that is a text already.
    package static func frame(_ members: String, before object: [UInt8]) -> [UInt8] {
        let rest = object.dropFirst()
        let comma = rest.first == UInt8(ascii: "}") ? "" : ","
        return frame(Array("{\(members)\(comma)".utf8) + rest)
    }
}
