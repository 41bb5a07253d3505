/// Finds the parts of JSON strings that need no escape, eight bytes at a time.
enum JSONText {
    /// The end of the part from `start` without a quote, a backslash and control characters.
    /// - Returns: the offset of the first such byte, or the number of bytes; and whether the part is ASCII.
    static func plainPart(
        of bytes: UnsafeBufferPointer<UInt8>, from start: Int
    ) -> (end: Int, isASCII: Bool) {
        let words = UnsafeRawBufferPointer(bytes)
        var position = start
        var seen: UInt64 = 0
        while position + 8 <= words.count {
            let word = words.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let (quote, backslash) = (word ^ (ones &* 0x22), word ^ (ones &* 0x5C))
            // The high bit of a byte: it is below 0x20, or zero after the exclusive or.
            let found = (word &- ones &* 0x20) & ~word | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash
            if found & highBits != 0 { break }
            seen |= word
            position += 8
        }
        while position < bytes.count {
            let byte = bytes[position]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            seen |= UInt64(byte)
            position += 1
        }
        return (position, seen & highBits == 0)
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080
}
