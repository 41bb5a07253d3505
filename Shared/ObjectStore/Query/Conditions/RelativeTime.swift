import ParseProtocol

/// `$relativeTime`: `now`, `in 2 days 3 hours`, `12 days ago` (PARSE_PROTOCOL section 4.1).
enum RelativeTime {
    /// - Parameter constraint: the constraint's name, for the error text; clients know these texts.
    /// - Throws: `.invalidJSON` (107) for a text outside of the grammar.
    static func resolve(_ text: String, in constraint: String, now: Timestamp) throws -> Timestamp {
        func invalid(_ reason: String) -> ParseError {
            ParseError(.invalidJSON, "bad $relativeTime (\(constraint)) value. \(reason)")
        }
        var words = text.lowercased().split(separator: " ").map(String.init)
        if words == ["now"] { return now }
        let isFuture = words.first == "in"
        let isPast = words.last == "ago"
        guard isFuture || isPast else { throw invalid("Time should either start with 'in' or end with 'ago'") }
        guard isFuture != isPast else { throw invalid("Time cannot have both 'in' and 'ago'") }
        if isFuture { words.removeFirst() } else { words.removeLast() }
        guard !words.isEmpty, words.count.isMultiple(of: 2), words.count <= 12 else {
            throw invalid("Invalid time string. Dangling unit or number.")
        }
        var seconds: Int64 = 0
        for index in stride(from: 0, to: words.count, by: 2) {
            guard let count = Int64(words[index]), (0...1_000_000_000).contains(count) else {
                throw invalid("'\(words[index].prefix(40))' is not an integer.")
            }
            guard let unit = units[words[index + 1]] else {
                throw invalid("Invalid interval: '\(words[index + 1].prefix(40))'")
            }
            seconds = min(seconds + count * unit, secondsMax)
        }
        let moment = now.milliseconds + (isFuture ? seconds : -seconds) * 1000
        return Timestamp(milliseconds: min(max(moment, earliest), latest))
    }

    /// More than the whole range of dates, and far below an overflow.
    private static let secondsMax: Int64 = 1_000_000_000_000
    /// Years 1 and 9999, the range of dates in documents.
    private static let earliest: Int64 = -62_135_596_800_000
    private static let latest: Int64 = 253_402_300_799_999

    private static let units: [String: Int64] = {
        var units: [String: Int64] = [:]
        for (names, seconds) in [
            (["year", "yr"], 31_536_000), (["week", "wk"], 604_800), (["day", "d"], 86_400), (["hour", "hr"], 3_600),
            (["minute", "min"], 60), (["second", "sec"], 1),
        ] as [([String], Int64)] {
            for name in names {
                units[name] = seconds
                units[name + "s"] = seconds
            }
        }
        return units
    }()
}
