import ParseProtocol

/// A `$regex` in the words that PostgreSQL and its relatives have in common
/// (https://www.postgresql.org/docs/15/functions-matching.html#POSIX-SYNTAX-DETAILS,
/// https://github.com/google/re2/wiki/Syntax).
///
/// What Satchel promises of patterns is PCRE's meaning. A pattern is read as PCRE reads it and written anew without any
/// flag, class or assertion in which the engines differ; every letter without case becomes a list of its forms. What
/// has no such words is refused, so that no query finds something else than it would in SQLite.
///
/// The text says only whether there is a match: it may take a line feed beside the match, and as much as it likes.
package struct PlainPattern {
    package let text: String

    /// - Parameters:
    ///   - pattern: a pattern that PCRE takes.
    ///   - options: any of `i`, `m`, `s`, `x` and `u`.
    /// - Throws: `.invalidQuery` (102) for what cannot be looked for in every engine.
    package init(_ pattern: String, options: String) throws(ParseError) {
        var reader = PlainPatternReader(pattern, options: options)
        let node = try reader.pattern()
        try node.checkSize()
        text = try node.text(at: Node.Place())
    }

    static func impossible(_ what: String) -> ParseError {
        ParseError(
            .invalidQuery,
            "\(what) in a $regex is not possible where objects are kept with SATCHEL_POSTGRESQL=plain.")
    }

    /// A part of a pattern.
    indirect enum Node {
        case letters(LetterSet)
        case anchor(Anchor)
        case sequence([Node])
        case choice([Node])
        /// - Parameter most: nil for any number.
        case repetition(Node, least: Int, most: Int?)
    }

    /// A place of the text.
    enum Anchor {
        case start
        /// The start or behind a line feed, if more follows it.
        case lineStart
        case end
        /// The end or before a line feed there.
        case lastLineEnd
        /// The end or before a line feed.
        case lineEnd
    }
}

// MARK: What is possible

extension PlainPattern.Node {
    typealias Node = PlainPattern.Node

    /// The greatest number in a bound, which is PostgreSQL's.
    private static let boundMax = 255
    /// How often a letter may be repeated by bounds in bounds, which is Go's limit.
    private static let copiesMax = 1000
    /// How many letters a pattern may have when its bounds are written out. PostgreSQL needs some milliseconds.
    private static let lettersMax = 20_000
    /// How many parts that may be empty a pattern may have when its bounds are written out. PostgreSQL's time grows
    /// with the third power of it: a fifth of a second for these.
    private static let emptyPartsMax = 250

    func checkSize() throws(ParseError) {
        let size = try size(copies: 1)
        if size.letters > Self.lettersMax || size.emptyParts > Self.emptyPartsMax {
            throw PlainPattern.impossible("A repetition of so much")
        }
    }

    /// - Parameter copies: how often the part is there when the bounds around it are written out.
    private func size(copies: Int) throws(ParseError) -> (letters: Int, emptyParts: Int) {
        switch self {
        case .letters: return (copies, 0)
        case .anchor: return (0, 0)
        case .sequence(let nodes), .choice(let nodes):
            var sum = (letters: 0, emptyParts: nodes.isEmpty ? copies : 0)
            for node in nodes {
                let size = try node.size(copies: copies)
                sum = (sum.letters + size.letters, sum.emptyParts + size.emptyParts)
            }
            return sum
        case .repetition(let node, let least, let most):
            let count = most ?? least
            guard count <= Self.boundMax else { throw PlainPattern.impossible("A bound above \(Self.boundMax)") }
            let all = copies * max(count, 1)
            guard all <= Self.copiesMax else { throw PlainPattern.impossible("A repetition of so much") }
            var size = try node.size(copies: all)
            if least == 0 { size.emptyParts += copies }
            return size
        }
    }

    private var hasAnchor: Bool {
        switch self {
        case .letters: false
        case .anchor: true
        case .sequence(let nodes), .choice(let nodes): nodes.contains(where: \.hasAnchor)
        case .repetition(let node, _, _): node.hasAnchor
        }
    }

    /// Whether it holds only where a line or the text ends.
    private var hasEnd: Bool {
        switch self {
        case .letters: false
        case .anchor(let anchor): anchor != .start && anchor != .lineStart
        case .sequence(let nodes), .choice(let nodes): nodes.contains(where: \.hasEnd)
        case .repetition(let node, _, _): node.hasEnd
        }
    }

    /// Whether it may take nothing of a text.
    private var mayBeEmpty: Bool {
        switch self {
        case .letters: false
        case .anchor: true
        case .sequence(let nodes): nodes.allSatisfy(\.mayBeEmpty)
        case .choice(let nodes): nodes.contains(where: \.mayBeEmpty)
        case .repetition(let node, let least, _): least == 0 || node.mayBeEmpty
        }
    }
}

// MARK: Writing

extension PlainPattern.Node {
    /// Where a part is in the pattern.
    struct Place {
        /// Nothing is before it, so that it may take a letter more at its start.
        var isFirst = true
        /// Nothing is behind it, so that it may take a letter more at its end.
        var isLast = true
        /// What is behind it may take nothing.
        var mayEnd = true
        /// An end is asked for behind it.
        var hasEnd = false
    }

    func text(at place: Place) throws(ParseError) -> String {
        switch self {
        case .letters(let letters):
            if letters.isEmpty { throw PlainPattern.impossible("A list without letters") }
            return letters.text
        case .anchor(let anchor): return try anchor.text(at: place)
        case .sequence(let nodes):
            var text = ""
            var inner = place
            for (index, node) in nodes.enumerated().reversed() {
                inner.isFirst = place.isFirst && index == 0
                text = try node.part(at: inner) + text
                inner.isLast = false
                inner.mayEnd = inner.mayEnd && node.mayBeEmpty
                inner.hasEnd = inner.hasEnd || node.hasEnd
            }
            return text
        case .choice(let nodes):
            var texts: [String] = []
            for node in nodes { texts.append(try node.text(at: place)) }
            return texts.joined(separator: "|")
        case .repetition(let node, let least, let most):
            // The engines do not agree on a place that is repeated.
            if node.hasAnchor { throw PlainPattern.impossible("A repeated ^ or $") }
            let inner = Place(isFirst: false, isLast: false)
            let sign =
                switch (least, most) {
                case (0, nil): "*"
                case (1, nil): "+"
                case (0, 1): "?"
                case (_, nil): "{\(least),}"
                case (_, least): "{\(least)}"
                case (_, let most?): "{\(least),\(most)}"
                }
            let text = try node.text(at: inner)
            if case .letters = node { return text + sign }
            return "(?:\(text))\(sign)"
        }
    }

    /// The text as something that can stand beside another part.
    private func part(at place: Place) throws(ParseError) -> String {
        let text = try text(at: place)
        if case .choice = self { return "(?:\(text))" }
        return text
    }
}

extension PlainPattern.Anchor {
    /// An end that is also before a line feed takes the line feed, and a start of a line takes the one before it.
    fileprivate func text(at place: PlainPattern.Node.Place) throws(ParseError) -> String {
        switch self {
        case .start: return "^"
        case .end: return "$"
        case .lastLineEnd:
            guard place.isLast else { throw PlainPattern.impossible("Something behind $") }
            return #"\n?$"#
        case .lineEnd:
            guard place.isLast else { throw PlainPattern.impossible("Something behind $") }
            return #"(?:\n|$)"#
        case .lineStart:
            guard place.isFirst else { throw PlainPattern.impossible("Something before ^ with the option m") }
            // No line starts at the end of a text. A line of nothing would be found there.
            if place.mayEnd, place.hasEnd { throw PlainPattern.impossible("A line of nothing") }
            return #"(?:^|\n)"#
        }
    }
}
