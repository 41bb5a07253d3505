/// The kinds of letters in patterns, as what stands between brackets: PCRE's are those of ASCII unless the option `u`
/// says otherwise, PostgreSQL's are those of Unicode.
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

    /// The place between a letter of a word and one of none, or any other place.
    func border(isWanted: Bool) -> String {
        if isUnicode { return isWanted ? "\\y" : "\\Y" }
        let word = "[\(letters("w"))]"
        return isWanted
            ? "(?:(?<=\(word))(?!\(word))|(?<!\(word))(?=\(word)))"
            : "(?:(?<=\(word))(?=\(word))|(?<!\(word))(?!\(word)))"
    }

    /// What stands for `[:name:]`.
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
