/// The letters whose case is folded in stored keys and indexes. These must not change with the toolchain's tables, so
/// letters that are newer than a fixed version of Unicode represent themselves. Unicode changes no pair of older
/// letters (https://www.unicode.org/policies/stability_policy.html#Case_Pair).
package enum FoldedLetters {
    private static let unicode = 15

    package static func has(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return true }
        guard let age = scalar.properties.age else { return false }
        return age.major <= unicode
    }

    /// Folds the parts of a text between newer letters.
    package static func folded(_ text: String, _ fold: (String) -> String) -> String {
        if text.unicodeScalars.allSatisfy(has) { return fold(text) }
        var folded = ""
        var part = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if has(scalar) {
                part.append(scalar)
                continue
            }
            folded += fold(String(part))
            folded.unicodeScalars.append(scalar)
            part = String.UnicodeScalarView()
        }
        return folded + fold(String(part))
    }
}
