/// The letters that may stand at one place of a text: what `a`, `.`, `\d` or `[^x-z]` means in a pattern.
///
/// U+0000 is never among them: PostgreSQL and its relatives keep no text that has it.
struct LetterSet {
    /// Numbers of letters, in order, neither overlapping nor side by side.
    private var ranges: [ClosedRange<UInt32>] = []

    init() {}
    init(_ letter: Unicode.Scalar) { insert(letter.value...letter.value) }

    /// - Parameter ends: the first and the last letter of each range, as in `AZaz` for the letters of ASCII.
    init(ranges ends: String) {
        let ends = ends.unicodeScalars.map(\.value)
        for index in stride(from: 0, to: ends.count, by: 2) { insert(ends[index]...ends[index + 1]) }
    }

    /// The numbers that letters have; between these two are the halves of UTF-16.
    private static let all: [ClosedRange<UInt32>] = [1...0xD7FF, 0xE000...last]
    private static let last: UInt32 = 0x10FFFF

    var isEmpty: Bool { ranges.isEmpty }
    /// Whether the last of all letters is among these, as in whatever is said by what it is not.
    var reachesEnd: Bool { ranges.last?.upperBound == Self.last }

    mutating func insert(_ range: ClosedRange<UInt32>) {
        for part in Self.all where part.overlaps(range) { join(range.clamped(to: part)) }
    }

    mutating func insert(_ other: LetterSet) {
        for range in other.ranges { insert(range) }
    }

    private mutating func join(_ range: ClosedRange<UInt32>) {
        let before = ranges.prefix { $0.upperBound + 1 < range.lowerBound }
        let touched = ranges.dropFirst(before.count).prefix { $0.lowerBound <= range.upperBound + 1 }
        let first = min(range.lowerBound, touched.first?.lowerBound ?? range.lowerBound)
        let last = max(range.upperBound, touched.last?.upperBound ?? range.upperBound)
        ranges.replaceSubrange(before.endIndex..<touched.endIndex, with: [first...last])
    }

    /// All letters that are not among these.
    var inverted: LetterSet {
        var result = LetterSet()
        var next: UInt32 = 0
        for range in ranges {
            if next < range.lowerBound { result.insert(next...range.lowerBound - 1) }
            next = range.upperBound + 1
        }
        if next <= Self.last { result.insert(next...Self.last) }
        return result
    }

    /// These letters with their capitals, small ones and whatever else PCRE takes for the same without case.
    var caseless: LetterSet {
        var result = self
        for range in ranges {
            for letter in CaseForms.all[CaseForms.index(of: range.lowerBound)...] {
                guard letter.value <= range.upperBound else { break }
                for form in letter.forms { result.insert(form...form) }
            }
        }
        return result
    }

    // MARK: In a pattern

    /// One letter of these, in the words of PostgreSQL and of Go alike: a letter, or a list between brackets.
    var text: String {
        if ranges.count == 1, ranges[0].count == 1 {
            return Self.letter(ranges[0].lowerBound, escaped: #"\^$.|?*+()[]{}"#)
        }
        let others = inverted
        // Neither has a list for everything, and whether a point is a line feed depends on flags.
        if others.isEmpty { return #"(?:.|\n)"# }
        return "[\(reachesEnd ? "^" : "")\((reachesEnd ? others : self).list)]"
    }

    /// What stands between brackets.
    private var list: String {
        ranges.map { range in
            let (first, last) = (Self.listed(range.lowerBound), Self.listed(range.upperBound))
            return range.count == 1 ? first : range.count == 2 ? first + last : "\(first)-\(last)"
        }.joined()
    }

    private static func listed(_ value: UInt32) -> String { letter(value, escaped: #"\[]^-"#) }

    private static let controls: [Unicode.Scalar: String] = [
        "\t": "t", "\n": "n", "\u{B}": "v", "\u{C}": "f", "\r": "r",
    ]

    private static func letter(_ value: UInt32, escaped signs: String) -> String {
        guard let letter = Unicode.Scalar(value) else { preconditionFailure("Half a letter is in a set of letters.") }
        if let control = controls[letter] { return "\\\(control)" }
        return (signs.unicodeScalars.contains(letter) ? "\\" : "") + String(letter)
    }
}

/// Letters that PCRE takes for others without case.
private enum CaseForms {
    /// In order of their numbers, each with the other forms of the letter. Made once, in some milliseconds.
    static let all: [(value: UInt32, forms: [UInt32])] = (1...UInt32(0x1FFFF)).compactMap { value in
        guard let letter = Unicode.Scalar(value) else { return nil }
        if let set = LetterCases.sets[letter] {
            return (value, set.unicodeScalars.map(\.value).filter { $0 != value })
        }
        let properties = letter.properties
        guard properties.changesWhenCaseMapped, isKnown(letter) else { return nil }
        let mappings = [properties.lowercaseMapping, properties.uppercaseMapping, properties.titlecaseMapping]
        // Mappings to several letters are none to PCRE.
        let forms = mappings.compactMap { $0.unicodeScalars.count == 1 ? $0.unicodeScalars.first : nil }
        let others = Set(forms).subtracting([letter]).filter(isKnown)
        return others.isEmpty ? nil : (value, others.map(\.value).sorted())
    }

    /// Whether a letter has its case in PCRE2 10.42, which has Unicode 14. The dotless i has none there.
    private static func isKnown(_ letter: Unicode.Scalar) -> Bool {
        guard let age = letter.properties.age else { return false }
        return age.major <= 14 && letter != "\u{131}"
    }

    /// Where the first is whose number is at least this.
    static func index(of value: UInt32) -> Int {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].value < value { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
