import ParseProtocol

/// A `$regex` in PostgreSQL's syntax (https://www.postgresql.org/docs/15/functions-matching.html#POSIX-SYNTAX-DETAILS).
///
/// Satchel promises PCRE's meaning. Where PostgreSQL's syntax differs, the pattern is translated. A construct that
/// PostgreSQL lacks is refused, so that no query returns other results than in SQLite.
struct PostgreSQLPattern {
    /// The pattern, preceded by its options.
    let text: String

    /// - Throws: `.invalidQuery` (102) for a construct that PostgreSQL does not support.
    init(_ pattern: String, options: String) throws(ParseError) {
        var reader = Reader(rest: Array(pattern.unicodeScalars)[...], options)
        let body = try reader.translated()
        // `w` lets anchors match at lines, `s` only at the text's ends. Neither changes which characters match.
        let lines = options.contains("m") ? "w" : "s"
        let flags = (options.contains("i") ? "i" : "") + (options.contains("x") ? "x" : "") + lines
        text = "(?\(flags))\(body)"
    }

    static func impossible(_ what: String) -> ParseError {
        ParseError(.invalidQuery, "\(what) in a $regex is not possible where objects are kept in PostgreSQL.")
    }

    private struct Reader {
        var rest: ArraySlice<Unicode.Scalar>
        private let isCaseless: Bool
        private let hasLines: Bool
        /// A dot also matches a line feed.
        private let isWide: Bool
        private let classes: PatternClasses
        private var output = String.UnicodeScalarView()

        init(rest: ArraySlice<Unicode.Scalar>, _ options: String) {
            self.rest = rest
            isCaseless = options.contains("i")
            hasLines = options.contains("m")
            isWide = options.contains("s")
            classes = PatternClasses(isUnicode: options.contains("u"))
        }

        mutating func translated() throws(ParseError) -> String {
            while let next = rest.popFirst() {
                switch next {
                case "\\": try escape()
                case "[": try brackets()
                case "(": try group()
                case ".": append(isWide ? "." : "[^\\n]")
                case "^": append(hasLines ? Self.start : "^")
                case "$": append(hasLines ? "$" : Self.end)
                case "{": append(isBound ? "{" : "\\{")
                case "*", "+", "?", "}": try quantifier(next)
                default: letter(next)
                }
            }
            return String(output)
        }

        /// The start of the text or of a line, but not after a line feed at the end of the text.
        private static let start = #"(?:\A|^(?!\Z))"#
        /// The end of the text, or the position before a final line feed.
        private static let end = #"(?=\n?\Z)"#

        private mutating func append(_ text: String) { output.append(contentsOf: text.unicodeScalars) }

        /// A `+` after a quantifier makes it possessive, which PostgreSQL does not support.
        private mutating func quantifier(_ sign: Unicode.Scalar) throws(ParseError) {
            output.append(sign)
            if rest.first == "+" { throw impossible("A possessive quantifier") }
        }

        /// Whether `{` begins a repetition; PCRE treats any other `{` literally.
        private var isBound: Bool {
            let inner = rest.prefix { $0 != "}" }
            guard inner.count < rest.count, let first = inner.first, ("0"..."9").contains(first) else { return false }
            return inner.allSatisfy { ("0"..."9").contains($0) || $0 == "," } && inner.count { $0 == "," } <= 1
        }

        private mutating func escape() throws(ParseError) {
            guard let next = rest.popFirst() else { return append("\\\\") }
            switch next {
            case "Q":
                while !rest.isEmpty, !rest.starts(with: ["\\", "E"]) { literal(rest.removeFirst()) }
                rest = rest.dropFirst(2)
            case "E": break
            case "b", "B": append(classes.border(isWanted: next == "b"))
            case "z": append("\\Z")
            case "Z": append(Self.end)
            case "d", "w", "s": append("[\(classes.letters(next))]")
            case "D": append("[^\(classes.letters("d"))]")
            case "W": append("[^\(classes.letters("w"))]")
            case "S": append("[^\(classes.letters("s"))]")
            case "A", "n", "r", "t", "f", "e", "a": append("\\\(next)")
            case "x": try code()
            case "1"..."9": append("\\\(next)")
            case "a"..."z", "A"..."Z", "0": throw impossible("\\\(next)")
            default: literal(next)
            }
        }

        /// A character by its code.
        private mutating func code() throws(ParseError) {
            let isLong = rest.first == "{"
            let digits = isLong ? rest.dropFirst().prefix { $0 != "}" } : rest.prefix(2)
            guard let value = UInt32(String(String.UnicodeScalarView(digits)), radix: 16),
                let scalar = Unicode.Scalar(value), value != 0
            else { throw impossible("\\x") }
            rest = rest.dropFirst(digits.count + (isLong ? 2 : 0))
            literal(scalar)
        }

        private mutating func literal(_ scalar: Unicode.Scalar) {
            if #"\^$.|?*+()[]{}"#.unicodeScalars.contains(scalar) { output.append("\\") }
            letter(scalar)
        }

        /// PostgreSQL matches a letter with its upper and lower case form, and no others.
        private mutating func letter(_ scalar: Unicode.Scalar) {
            guard isCaseless, let others = LetterCases.sets[scalar] else { return output.append(scalar) }
            append("[\(others)]")
        }

        /// A bracket expression, in which only its end and its classes have a special meaning.
        private mutating func brackets() throws(ParseError) {
            append("[")
            if rest.first == "^" { output.append(rest.removeFirst()) }
            if rest.first == "]" { output.append(rest.removeFirst()) }
            while let next = rest.popFirst() {
                switch next {
                case "]":
                    append("]")
                    return
                case "[" where rest.first == ":":
                    let name = String(String.UnicodeScalarView(rest.dropFirst().prefix { $0 != ":" && $0 != "]" }))
                    guard let letters = classes.named[name], rest.dropFirst(name.count + 1).starts(with: [":", "]"])
                    else { throw impossible("[:\(name):]") }
                    rest = rest.dropFirst(name.count + 3)
                    append(letters)
                case "[": append("\\[")
                case "\\":
                    guard let escaped = rest.popFirst() else { return }
                    switch escaped {
                    case "d", "w", "s": append(classes.letters(escaped))
                    case "n", "r", "t", "f": append("\\\(escaped)")
                    case "a"..."z", "A"..."Z", "0"..."9": throw impossible("\\\(escaped) between brackets")
                    default: append("\\\(escaped)")
                    }
                default:
                    output.append(next)
                    // The character after the hyphen of a range is its end.
                    let isPlain = rest.first != "-" && output.dropLast().last != "-"
                    if isCaseless, isPlain, let others = LetterCases.sets[next] { append(others) }
                }
            }
        }

        private mutating func group() throws(ParseError) {
            append("(")
            guard rest.first == "?" else { return }
            let kinds = ["?:", "?=", "?!", "?<=", "?<!"]
            let kind = kinds.first { rest.starts(with: $0.unicodeScalars) }
            guard let kind else { throw impossible("A group that begins with (?") }
            append(kind)
            rest = rest.dropFirst(kind.unicodeScalars.count)
        }
    }
}
