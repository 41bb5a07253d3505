/// Guards texts that a spreadsheet would run as a formula with a leading quote, as the dashboard does (`csv.js`).
enum CSVFormula {
    private static let quote: Unicode.Scalar = "'"
    /// The first characters of formulas in some spreadsheet, in ASCII and in their wide forms.
    private static let marks: Set<Unicode.Scalar> = [
        "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}",
    ]

    /// The guarded text for a spreadsheet. A text with quotes before a formula gets one more quote, so that every text
    /// reads back unchanged.
    static func guarded(_ text: String) -> String { isFormula(text.unicodeScalars[...]) ? "'" + text : text }

    /// The original of a guarded text.
    static func unguarded(_ text: String) -> String {
        text.unicodeScalars.first == quote && isFormula(text.unicodeScalars[...])
            ? String(text.unicodeScalars.dropFirst()) : text
    }

    /// Whether the text, after any number of quotes, begins a formula or has a blank that spreadsheets drop.
    private static func isFormula(_ text: Substring.UnicodeScalarView) -> Bool {
        let rest = text.drop { $0 == quote }
        if let first = rest.first, ["\t", "\r", "\n"].contains(first) { return true }
        return rest.first { !isBlank($0) }.map(marks.contains) ?? false
    }

    /// `\s` of JavaScript.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace && scalar != "\u{85}" || scalar == "\u{FEFF}"
    }
}
