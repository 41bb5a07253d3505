/// The members of a JSON object text, or the elements of an array text, as byte ranges, without decoding any value.
///
/// For documents that are stored and returned as text: selecting members or reading one costs a scan of the bytes
/// instead of a decode and an encode. The text must be well-formed (written by `JSON.serialized`); for anything else
/// the result is nil or meaningless, but the scan never traps.
public struct JSONMembers {
    /// A member of an object: two ranges of the scanned bytes.
    public struct Member {
        /// The name between its quotes, still escaped (Parse field names never need escaping).
        public let name: Range<Int>
        /// The text of the value.
        public let value: Range<Int>
    }

    /// The members of the object that spans `bytes`, in the order of the text; nil if it is not an object.
    public static func scan(_ bytes: UnsafeBufferPointer<UInt8>) -> [Member]? {
        guard bytes.count >= 2, bytes[0] == UInt8(ascii: "{") else { return nil }
        var members: [Member] = []
        var position = 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "}") {
            if bytes[position] == UInt8(ascii: ",") { position += 1 }
            let nameStart = position + 1
            guard let nameEnd = endOfString(bytes, from: position), nameEnd < bytes.count,
                bytes[nameEnd] == UInt8(ascii: ":"),
                let valueEnd = endOfValue(bytes, from: nameEnd + 1)
            else { return nil }
            members.append(Member(name: nameStart..<(nameEnd - 1), value: (nameEnd + 1)..<valueEnd))
            position = valueEnd
        }
        return members
    }

    /// The elements of the array that spans `bytes`, in the order of the text; nil if it is not an array.
    public static func elements(_ bytes: UnsafeBufferPointer<UInt8>) -> [Range<Int>]? {
        guard bytes.count >= 2, bytes[0] == UInt8(ascii: "[") else { return nil }
        var elements: [Range<Int>] = []
        var position = 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "]") {
            if bytes[position] == UInt8(ascii: ",") { position += 1 }
            guard let end = endOfValue(bytes, from: position), end > position else { return nil }
            elements.append(position..<end)
            position = end
        }
        return elements
    }

    /// The document with only the members whose names pass `isIncluded`, still as text.
    public static func filter(_ document: [UInt8], _ isIncluded: (Substring) -> Bool) -> [UInt8] {
        document.withUnsafeBufferPointer { bytes in
            guard let members = scan(bytes) else { return document }
            var output: [UInt8] = []
            output.reserveCapacity(document.count)
            output.append(UInt8(ascii: "{"))
            for member in members
            where isIncluded(Substring(decoding: bytes[member.name], as: UTF8.self)) {
                if output.count > 1 { output.append(UInt8(ascii: ",")) }
                output.append(contentsOf: bytes[(member.name.lowerBound - 1)..<member.value.upperBound])
            }
            output.append(UInt8(ascii: "}"))
            return output
        }
    }

    /// The position after the closing quote of the string that starts at `start`.
    private static func endOfString(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "\"") else { return nil }
        var position = start + 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): return position + 1
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        return nil
    }

    private static func endOfValue(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard start < bytes.count else { return nil }
        var depth = 0
        var position = start
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                guard let end = endOfString(bytes, from: position) else { return nil }
                position = end
                if depth == 0 { return position }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return position }  // The end of the enclosing object closes a bare value.
                depth -= 1
                if depth == 0 { return position + 1 }
            case UInt8(ascii: ","):
                if depth == 0 { return position }
            default: break
            }
            position += 1
        }
        return nil
    }
}
