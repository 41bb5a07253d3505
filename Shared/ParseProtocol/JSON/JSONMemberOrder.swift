/// The order in which a JSON text names members, where it means something: `JSON` itself has none.
public enum JSONMemberOrder {
    /// The members of each object in one member of the text's object: of `{"indexes":{"i":{"b":1,"a":1}}}` and
    /// `indexes`, `["i": ["b", "a"]]`. Of a repeated name the first place counts.
    ///
    /// The text is one that `JSON` has read; of anything else the result is meaningless, never a trap. Names with
    /// escapes are left out.
    public static func names(in text: [UInt8], under member: String) -> [String: [String]] {
        var orders: [String: [String]] = [:]
        // The name of the member that each open object is at; nil for an array.
        var path: [String?] = []
        var isAtName = false
        var position = 0
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""):
                let start = position + 1
                guard let end = endOfString(text, from: start) else { return orders }
                position = end
                if isAtName, !path.isEmpty {
                    isAtName = false
                    let name = String(decoding: text[start..<end], as: UTF8.self)
                    path[path.count - 1] = name
                    if path.count == 3, path[0] == member, let object = path[1], !name.contains("\\"),
                        orders[object]?.contains(name) != true
                    {
                        orders[object, default: []].append(name)
                    }
                }
            case UInt8(ascii: "{"):
                path.append("")
                isAtName = true
            case UInt8(ascii: "["):
                path.append(nil)
                isAtName = false
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if !path.isEmpty { path.removeLast() }
                isAtName = false
            case UInt8(ascii: ","): isAtName = path.last.map { $0 != nil } ?? false
            default: break
            }
            position += 1
        }
        return orders
    }

    /// The place of the closing quote.
    private static func endOfString(_ text: [UInt8], from start: Int) -> Int? {
        var position = start
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""): return position
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        return nil
    }
}
