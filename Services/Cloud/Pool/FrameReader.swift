/// Splits the stream between `cloud` and a Node process into frames: four bytes of length, big-endian, and a JSON text.
package struct FrameReader {
    /// Same as the limit of a bus frame.
    package static let bytesMax = 64 << 20

    /// Maximum bytes of an object in a frame, minus room for the members in front of it.
    package static let textMax = bytesMax - 1024

    /// The announced length exceeds the limit. The rest of the stream cannot be read.
    package struct TooLarge: Error, Equatable {}

    /// An empty buffer of this capacity is kept for the next frame.
    private static let keptBytes = 64 << 10

    private var buffer: [UInt8] = []
    private var start = 0

    package init() {}

    /// Adds received bytes.
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
        let text = Array(buffer[start + 4..<start + 4 + count])
        start += 4 + count
        if start == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= Self.keptBytes)
            start = 0
        }
        return text
    }

    /// Encodes a text as a frame.
    package static func frame(_ text: [UInt8]) -> [UInt8] {
        let count = UInt32(text.count)
        return [UInt8(count >> 24), UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)] + text
    }

    /// Encodes a frame from some members, followed by the members of an already serialized object.
    package static func frame(_ members: String, before object: [UInt8]) -> [UInt8] {
        let rest = object.dropFirst()
        let comma = rest.first == UInt8(ascii: "}") ? "" : ","
        return frame(Array("{\(members)\(comma)".utf8) + rest)
    }
}
