/// The invisible characters that are part of words and emoji: zero-width joiners after a letter, mark or symbol beyond
/// ASCII (Persian, Hindi, Sinhala, family emoji), and the tags of a flag (England, Scotland, Wales). Elsewhere they are
/// invisible and can disguise a text or the difference between two texts.
public struct JoiningMarks {
    private var joins = false
    private var isFlag = false

    /// The state at the beginning of a text.
    public init() {}

    /// Whether a scalar is one of these at its position. Call it for the scalars of a text in order.
    public mutating func keeps(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200C, 0x200D:
            isFlag = false
            return joins
        case 0xE0020...0xE007F:
            let isKept = isFlag
            // The cancel tag ends the flag.
            if scalar.value == 0xE007F { isFlag = false }
            return isKept
        default:
            isFlag = scalar.value == 0x1F3F4
            joins = scalar.value > 0x7F && Self.isJoined(scalar)
            return false
        }
    }

    private static func isJoined(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .enclosingMark, .decimalNumber, .modifierSymbol, .otherSymbol:
            true
        default: false
        }
    }
}
