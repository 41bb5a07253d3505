/// The order of member names in a JSON text, for uses where it matters: `JSON` itself has no order.
public enum JSONMemberOrder {
    /// The member names of each object inside one member of the top-level object: for `{"indexes":{"i":{"b":1,"a":1}}}`
    /// and `indexes`, `["i": ["b", "a"]]`. For a repeated name the first position counts.
    ///
    /// `JSON` must have parsed the text; for any other text the result is meaningless, but the function never traps.
    /// Names with escapes are skipped.
    public static func names(in text: [UInt8], under member: String) -> [String: [String]] {
        var orders: [String: [String]] = [:]
        var known: [String: Set<String>] = [:]
        // The current member name in each open object; nil for an array.
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
                    if path.count == 3, path[0]?.hasSameBytes(as: member) == true, let object = path[1],
                        !name.utf8.contains(UInt8(ascii: "\\")), !name.exceedsMarkLimit, !object.exceedsMarkLimit,
                        known[object, default: []].insert(name).inserted
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

    /// The position of the closing quote.
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
