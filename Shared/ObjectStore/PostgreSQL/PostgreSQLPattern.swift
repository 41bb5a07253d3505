import ParseProtocol

/// A `$regex` in PostgreSQL's words (https://www.postgresql.org/docs/15/functions-matching.html#POSIX-SYNTAX-DETAILS).
///
/// What Satchel promises of patterns is PCRE's meaning. Here is decided where PostgreSQL's differs: what it has under
/// another sign is translated, and what it has not is refused, so that no query finds something else than it would in
/// SQLite. One difference is left: `$` does not match before a line feed that is the text's last character.
struct PostgreSQLPattern {
    /// The pattern with its options before it.
    let text: String

    /// - Throws: `.invalidQuery` (102) for what PostgreSQL cannot look for.
    init(_ pattern: String, options: String) throws(ParseError) {
        var reader = Reader(rest: Array(pattern.unicodeScalars)[...])
        let body = try reader.translated()
        // `p`, `n` and `w` are PostgreSQL's words for what PCRE's `s` and `m` leave and change about line feeds.
        let lines = options.contains("m") ? (options.contains("s") ? "w" : "n") : (options.contains("s") ? "s" : "p")
        let flags = (options.contains("i") ? "i" : "") + (options.contains("x") ? "x" : "") + lines
        text = "(?\(flags))\(body)"
    }

    static func impossible(_ what: String) -> ParseError {
        ParseError(.invalidQuery, "\(what) in a $regex is not possible where objects are kept in PostgreSQL.")
    }

    private struct Reader {
        var rest: ArraySlice<Unicode.Scalar>
        private var output = String.UnicodeScalarView()

        init(rest: ArraySlice<Unicode.Scalar>) { self.rest = rest }

        mutating func translated() throws(ParseError) -> String {
            while let next = rest.popFirst() {
                switch next {
                case "\\": try escape()
                case "[": try brackets()
                case "(": try group()
                case "{": append(isBound ? "{" : "\\{")
                case "*", "+", "?", "}": try quantifier(next)
                default: output.append(next)
                }
            }
            return String(output)
        }

        private mutating func append(_ text: String) { output.append(contentsOf: text.unicodeScalars) }

        /// A repetition that gives nothing back stands behind another one; PostgreSQL has none.
        private mutating func quantifier(_ sign: Unicode.Scalar) throws(ParseError) {
            output.append(sign)
            if rest.first == "+" { throw impossible("A possessive quantifier") }
        }

        /// Whether `{` begins a repetition; PCRE takes any other for itself.
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
            case "b": append("\\y")
            case "B": append("\\Y")
            case "z", "Z": append("\\Z")
            case "A", "d", "D", "w", "W", "s", "S", "n", "r", "t", "f", "e", "a", "v": append("\\\(next)")
            case "x": try code()
            case "1"..."9": append("\\\(next)")
            case "a"..."z", "A"..."Z", "0": throw impossible("\\\(next)")
            default: literal(next)
            }
        }

        /// A letter by its number.
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
            output.append(scalar)
        }

        /// A list of letters, in which only its end and its classes mean something.
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
                    append("[")
                    while let inner = rest.popFirst() {
                        output.append(inner)
                        if inner == "]" { break }
                    }
                case "[": append("\\[")
                case "\\":
                    guard let escaped = rest.popFirst() else { return }
                    switch escaped {
                    case "d", "w", "s", "n", "r", "t", "f", "v": append("\\\(escaped)")
                    case "a"..."z", "A"..."Z", "0"..."9": throw impossible("\\\(escaped) between brackets")
                    default: append("\\\(escaped)")
                    }
                default: output.append(next)
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
