import ParseProtocol

/// Query strings and forms, which share a syntax (application/x-www-form-urlencoded).
extension ParseRequest {
    /// Names and values of a query string or a form; the last value of a repeated name counts.
    /// - Throws: `.invalidJSON` (107) when it cannot be decoded.
    static func pairs(_ text: Substring.UTF8View) throws(ParseError) -> [String: String] {
        Dictionary(try orderedPairs(text).map { ($0, $1) }) { _, last in last }
    }

    /// `pairs` in the order of the text.
    /// - Throws: `.invalidJSON` (107) when it cannot be decoded.
    static func orderedPairs(_ text: Substring.UTF8View) throws(ParseError) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for pair in text.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(parts[0]), let value = parts.count > 1 ? decoded(parts[1]) : "" else {
                throw ParseError(.invalidJSON, "The query string is not valid.")
            }
            try name.checkMarks()
            try value.checkMarks()
            pairs.append((name, value))
        }
        return pairs
    }

    /// A name or value, with percent escapes and `+` for a space decoded; nil for an invalid escape or invalid UTF-8.
    /// Foundation does not decode the `+`, and replacing it would cost more than all the rest.
    private static func decoded(_ text: Substring.UTF8View) -> String? {
        // Most names and plain values need no decoding.
        guard text.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else {
            return String(Substring(text))
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = iterator.next().flatMap(hexValue), let low = iterator.next().flatMap(hexValue) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
