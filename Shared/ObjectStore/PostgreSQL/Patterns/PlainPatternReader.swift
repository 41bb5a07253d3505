import ParseProtocol

/// What reads a pattern as PCRE does (https://www.pcre.org/current/doc/html/pcre2pattern.html).
///
/// Patterns that PCRE does not take are not expected, and refused where they are seen.
struct PlainPatternReader {
    typealias Node = PlainPattern.Node

    private var rest: ArraySlice<Unicode.Scalar>
    private let isCaseless: Bool
    private let hasLines: Bool
    /// A point is a line feed, too.
    private let isWide: Bool
    /// Blanks and comments mean nothing.
    private let hasBlanks: Bool
    /// Classes are those of Unicode, which each engine has of a version of its own.
    private let isUnicode: Bool

    init(_ pattern: String, options: String) {
        rest = Array(pattern.unicodeScalars)[...]
        isCaseless = options.contains("i")
        hasLines = options.contains("m")
        isWide = options.contains("s")
        hasBlanks = options.contains("x")
        isUnicode = options.contains("u")
    }

    mutating func pattern() throws(ParseError) -> Node {
        let node = try choice()
        guard rest.isEmpty else { throw PlainPattern.impossible("A ) without a (") }
        return node
    }

    private mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.unicodeScalars) else { return false }
        rest = rest.dropFirst(text.unicodeScalars.count)
        return true
    }

    private mutating func choice() throws(ParseError) -> Node {
        var branches = [try sequence()]
        while take("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    /// Everything until the next `|` or `)`.
    private mutating func sequence() throws(ParseError) -> Node {
        var nodes: [Node] = []
        // Only what stands alone can be repeated, and only once.
        var isRepeatable = false
        while let next = rest.first, next != "|", next != ")" {
            if hasBlanks, skipBlank() { continue }
            if take(#"\Q"#) {
                while !rest.isEmpty, !rest.starts(with: [#"\"#, "E"]) {
                    nodes.append(.letters(letter(rest.removeFirst())))
                    isRepeatable = true
                }
            } else if take(#"\E"#) {
                continue
            } else if let bound = try bound() {
                guard isRepeatable, let node = nodes.popLast() else {
                    throw PlainPattern.impossible("A repetition of nothing")
                }
                nodes.append(.repetition(node, least: bound.least, most: bound.most))
                // Whether much or little is tried first does not change whether there is a match.
                if !take("?"), rest.first == "+" { throw PlainPattern.impossible("A possessive quantifier") }
                isRepeatable = false
            } else {
                let node = try atom()
                nodes.append(node)
                isRepeatable = if case .anchor = node { false } else { true }
            }
        }
        return nodes.count == 1 ? nodes[0] : .sequence(nodes)
    }

    private mutating func atom() throws(ParseError) -> Node {
        let next = rest.removeFirst()
        switch next {
        case #"\"#: return try escape()
        case "[": return .letters(try brackets())
        case "(": return try group()
        case ".": return .letters(isWide ? LetterSet().inverted : LetterSet("\n").inverted)
        case "^": return .anchor(hasLines ? .lineStart : .start)
        case "$": return .anchor(hasLines ? .lineEnd : .lastLineEnd)
        default: return .letters(letter(next))
        }
    }

    private func letter(_ scalar: Unicode.Scalar) -> LetterSet {
        isCaseless ? LetterSet(scalar).caseless : LetterSet(scalar)
    }

    /// What is white space to Unicode in patterns, or a comment until the end of its line.
    private mutating func skipBlank() -> Bool {
        if take("#") {
            rest = rest.drop { $0 != "\n" }.dropFirst()
            return true
        }
        guard rest.first?.properties.isPatternWhitespace == true else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func group() throws(ParseError) -> Node {
        let isPlain = take("?:")
        // Everything else that begins so is a group of another kind, or an order to PCRE.
        if !isPlain, let next = rest.first, next == "?" || next == "*" {
            throw PlainPattern.impossible("A group that begins with (\(next)")
        }
        let node = try choice()
        guard take(")") else { throw PlainPattern.impossible("A ( without a )") }
        return node
    }

    // MARK: Repetitions

    /// How often something is repeated, when this stands next.
    private mutating func bound() throws(ParseError) -> (least: Int, most: Int?)? {
        if take("*") { return (0, nil) }
        if take("+") { return (1, nil) }
        if take("?") { return (0, 1) }
        guard rest.first == "{" else { return nil }
        let inner = rest.dropFirst().prefix { $0 == "," || $0 == " " || $0 == "\t" || ("0"..."9").contains($0) }
        guard rest.dropFirst(1 + inner.count).first == "}", !inner.isEmpty else { return nil }
        let numbers = inner.split(separator: ",", omittingEmptySubsequences: false)
        let values = numbers.map { Int(String(String.UnicodeScalarView($0))) }
        // Blanks, and a bound that is only an upper one, mean something else from PCRE2 10.43 on.
        guard numbers.count <= 2, let least = values[0], let last = values.last, last != nil || numbers[1].isEmpty
        else { throw PlainPattern.impossible("A bound that is not {n}, {n,} or {n,m}") }
        rest = rest.dropFirst(inner.count + 2)
        return (least, last)
    }

    // MARK: Escapes

    private mutating func escape() throws(ParseError) -> Node {
        guard let next = rest.popFirst() else { throw PlainPattern.impossible(#"A \ at the end"#) }
        switch next {
        case "A": return .anchor(.start)
        case "z": return .anchor(.end)
        case "Z": return .anchor(.lastLineEnd)
        default:
            if let letters = try kind(next) { return .letters(letters) }
            return .letters(letter(try character(next)))
        }
    }

    /// A class that has a sign.
    private func kind(_ sign: Unicode.Scalar) throws(ParseError) -> LetterSet? {
        let name: String
        switch sign {
        case "d", "D": name = "digit"
        case "w", "W": name = "word"
        case "s", "S": name = "space"
        default: return nil
        }
        if isUnicode { throw PlainPattern.impossible(#"\\#(sign) with the option u"#) }
        let letters = Self.classes[name] ?? LetterSet()
        return ("A"..."Z").contains(sign) ? letters.inverted : letters
    }

    /// A character that is written with `\`.
    private mutating func character(_ sign: Unicode.Scalar) throws(ParseError) -> Unicode.Scalar {
        switch sign {
        case "a": return "\u{7}"
        case "e": return "\u{1B}"
        case "f": return "\u{C}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "x": return try code()
        case "a"..."z", "A"..."Z", "0"..."9": throw PlainPattern.impossible(#"\\#(sign)"#)
        default: return sign
        }
    }

    /// A letter by its number.
    private mutating func code() throws(ParseError) -> Unicode.Scalar {
        let isLong = take("{")
        let digits = (isLong ? rest : rest.prefix(2)).prefix(while: \.properties.isASCIIHexDigit)
        rest = rest.dropFirst(digits.count)
        guard !isLong || take("}"), let value = UInt32(String(String.UnicodeScalarView(digits)), radix: 16),
            let scalar = Unicode.Scalar(value)
        else { throw PlainPattern.impossible("This kind of \\x") }
        return scalar
    }

    // MARK: Lists

    private static let classes: [String: LetterSet] = [
        "alpha": "AZaz", "digit": "09", "alnum": "09AZaz", "upper": "AZ", "lower": "az", "word": "09AZ__az",
        "space": "\t\r  ", "blank": "\t\t  ", "xdigit": "09AFaf", "punct": "!/:@[`{~", "graph": "!~", "print": " ~",
        "cntrl": "\0\u{1F}\u{7F}\u{7F}", "ascii": "\0\u{7F}",
    ].mapValues(LetterSet.init(ranges:))

    private enum Item {
        case letter(Unicode.Scalar)
        case letters(LetterSet)
    }

    private mutating func brackets() throws(ParseError) -> LetterSet {
        let isInverted = take("^")
        var letters = LetterSet()
        var isStart = true
        while isStart || rest.first != "]" {
            isStart = false
            let isNamed = rest.starts(with: ["[", ":"])
            let first = try item()
            // At the end a hyphen is one.
            let isRange = rest.first == "-" && rest.dropFirst().first != "]"
            switch first {
            case .letters(let kind):
                if isRange { throw PlainPattern.impossible("A range from a class of letters") }
                // In PCRE2 10.42, `[\W[:digit:]]` has no letters beyond ASCII, as if it had forgotten `\W`.
                if isNamed, letters.reachesEnd, !kind.reachesEnd {
                    throw PlainPattern.impossible("A list like [\\W[:digit:]]")
                }
                letters.insert(kind)
            case .letter(let first):
                var range = LetterSet(first)
                if isRange {
                    rest.removeFirst()
                    guard case .letter(let last) = try item(), first <= last else {
                        throw PlainPattern.impossible("A range to this")
                    }
                    range.insert(first.value...last.value)
                }
                letters.insert(isCaseless ? range.caseless : range)
            }
        }
        rest.removeFirst()
        return isInverted ? letters.inverted : letters
    }

    private mutating func item() throws(ParseError) -> Item {
        guard let next = rest.popFirst() else { throw PlainPattern.impossible("A [ without a ]") }
        if next == "[", let sign = rest.first, [":", ".", "="].contains(sign) { return .letters(try named()) }
        guard next == #"\"# else { return .letter(next) }
        guard let sign = rest.popFirst() else { throw PlainPattern.impossible(#"A \ at the end"#) }
        if let letters = try kind(sign) { return .letters(letters) }
        return .letter(sign == "b" ? "\u{8}" : try character(sign))
    }

    /// `:name:]` behind a bracket.
    private mutating func named() throws(ParseError) -> LetterSet {
        let isSign = take(":")
        let isInverted = take("^")
        let name = String(String.UnicodeScalarView(rest.prefix { ("a"..."z").contains($0) }))
        guard isSign, !isUnicode, var letters = Self.classes[name], take("\(name):]") else {
            throw PlainPattern.impossible("[[:\(name):]")
        }
        if isCaseless, name == "upper" || name == "lower" { letters = Self.classes["alpha"] ?? letters }
        return isInverted ? letters.inverted : letters
    }
}
