/// Character classes of patterns, as text for a bracket expression. PCRE's classes are ASCII unless the option `u` is
/// set; PostgreSQL's are Unicode.
struct PatternClasses {
    let isUnicode: Bool

    /// - Parameter name: `d`, `w` or `s`.
    func letters(_ name: Unicode.Scalar) -> String {
        if isUnicode { return "\\\(name)" }
        return switch name {
        case "d": "0-9"
        case "w": "A-Za-z0-9_"
        default: #" \t\n\v\f\r"#
        }
    }

    /// A word boundary, or with `isWanted` false any other position.
    func border(isWanted: Bool) -> String {
        if isUnicode { return isWanted ? "\\y" : "\\Y" }
        let word = "[\(letters("w"))]"
        return isWanted
            ? "(?:(?<=\(word))(?!\(word))|(?<!\(word))(?=\(word)))"
            : "(?:(?<=\(word))(?=\(word))|(?<!\(word))(?!\(word)))"
    }

    /// The replacements of `[:name:]`, by name.
    var named: [String: String] {
        if isUnicode {
            let names = ["alpha", "digit", "alnum", "upper", "lower", "space", "punct"]
            return Dictionary(uniqueKeysWithValues: names.map { ($0, "[:\($0):]") }).merging(["word": "\\w"]) { $1 }
        }
        return [
            "alpha": "A-Za-z", "digit": "0-9", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z",
            "word": "A-Za-z0-9_", "space": letters("s"), "blank": #" \t"#, "xdigit": "0-9A-Fa-f",
            "punct": #"!-/:-@\[-`{-~"#, "graph": "!-~", "print": " -~",
        ]
    }
}
