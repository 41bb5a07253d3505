import ParseProtocol

/// Finds payment card numbers in client input. The shop must never hold one, not even in a log: clients send a token
/// from the payment provider instead.
public enum CardNumber {
    /// The error for a request that contains a card number. It does not repeat the number.
    public static let refused = ParseError(
        .validationError, "Card numbers must never be sent to the shop; send a token from the payment provider.")

    /// True when a text, a number or a member name anywhere in `value` contains a card number. A card number has 13 to
    /// 19 digits, an issuer's prefix and length, and a valid check digit. Its digits are contiguous or in groups
    /// separated by spaces or dashes.
    public static func isPresent(in value: JSON) -> Bool {
        switch value {
        case .null, .bool: false
        case .int(let number): isPresent(in: String(number.magnitude))
        case .double(let number): UInt64(exactly: number.magnitude).map { isPresent(in: String($0)) } ?? false
        case .string(let text): isPresent(in: text)
        case .array(let elements): elements.contains(where: isPresent)
        case .object(let members): members.contains { isPresent(in: $0.key) || isPresent(in: $0.value) }
        }
    }

    /// True when `text` contains a card number. Linear in the length of the text.
    public static func isPresent(in text: String) -> Bool {
        guard text.utf8.count >= digitsMin else { return false }
        var run: [[UInt8]] = []  // Groups of digits with only separators between them.
        var group: [UInt8] = []
        var isFraction = false
        var previous: Unicode.Scalar = " "
        for scalar in withoutIdentifiers(text).unicodeScalars {
            defer { previous = scalar }
            if ("0"..."9").contains(scalar) {
                // The digits of a fraction are not a card number; keys from `Math.random()` contain such fractions.
                if group.isEmpty, previous == "." { isFraction = true }
                if isFraction { continue }
                group.append(UInt8(scalar.value - 48))
                continue
            }
            isFraction = false
            if !group.isEmpty { run.append(group) }
            group = []
            if !isSeparator(scalar) {
                if holdsCard(run) { return true }
                run = []
            }
        }
        if !group.isEmpty { run.append(group) }
        return holdsCard(run)
    }

    private static let digitsMin = 13
    private static let digitsMax = 19

    /// Whether some adjacent complete groups form a card number. A part of a group never does: a longer number is not a
    /// card.
    private static func holdsCard(_ run: [[UInt8]]) -> Bool {
        for first in run.indices {
            var digits: [UInt8] = []
            for group in run[first...] {
                digits += group
                if digits.count > digitsMax { break }
                if digits.count >= digitsMin, hasIssuer(digits), isLuhnValid(digits) { return true }
            }
        }
        return false
    }

    /// The check digit of ISO/IEC 7812-1: double every second digit from the right, the sum of all digits ends in 0.
    private static func isLuhnValid(_ digits: [UInt8]) -> Bool {
        var sum = 0
        for (position, digit) in digits.reversed().enumerated() {
            let weighted = position.isMultiple(of: 2) ? Int(digit) : Int(digit) * 2
            sum += weighted > 9 ? weighted - 9 : weighted
        }
        return sum.isMultiple(of: 10)
    }

    /// Number ranges of the large networks with the lengths they issue. The lengths exclude most time stamps and bar
    /// codes.
    private static func hasIssuer(_ digits: [UInt8]) -> Bool {
        let prefix = digits.prefix(4).reduce(0) { $0 * 10 + Int($1) }
        switch prefix {
        case 4000...4999: return [13, 16, 19].contains(digits.count)  // Visa
        case 5100...5599, 2221...2720: return digits.count == 16  // Mastercard
        case 3400...3499, 3700...3799: return digits.count == 15  // American Express
        case 3000...3059, 3095, 3600...3699, 3800...3999: return (14...19).contains(digits.count)  // Diners Club
        case 3528...3589: return (16...19).contains(digits.count)  // JCB
        case 6011, 6440...6499, 6500...6599: return (16...19).contains(digits.count)  // Discover
        case 6200...6299, 8100...8199: return (16...19).contains(digits.count)  // UnionPay
        case 5000...5099, 5600...5899, 6304, 6759, 6761...6763: return true  // Maestro
        case 6000...6099, 8200...8299: return digits.count == 16  // RuPay
        default: return false
        }
    }

    /// Space, no-break and narrow spaces, tab, and the dashes that keyboards and word processors produce.
    private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case " ", "-", "\t", "\u{A0}", "\u{2009}", "\u{202F}", "\u{2010}"..."\u{2015}", "\u{2212}": true
        default: false
        }
    }

    /// The text without UUIDs and long hexadecimal numbers. Idempotency keys contain those, alone or after a word, and
    /// about one in ten thousand has groups of digits that look like a card.
    private static func withoutIdentifiers(_ text: String) -> String {
        guard text.utf8.count >= hexadecimalMin else { return text }
        var bytes = Array(text.utf8)
        var start = 0
        for index in 0...bytes.count where index == bytes.count || !isHexadecimal(bytes[index]) {
            defer { start = index + 1 }
            if index - start >= hexadecimalMin { blank(start..<index, in: &bytes) }
            guard index < bytes.count, bytes[index] == UInt8(ascii: "-"), index - start == 8 else { continue }
            let end = start + 36
            guard end <= bytes.count, isUUID(bytes[start..<end]), end == bytes.count || !isHexadecimal(bytes[end])
            else { continue }
            blank(start..<end, in: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A hexadecimal number of this length or more is an identifier. A card with a word before it and month and year
    /// after it is shorter.
    private static let hexadecimalMin = 32

    private static func blank(_ range: Range<Int>, in bytes: inout [UInt8]) {
        for index in range { bytes[index] = UInt8(ascii: "x") }
    }

    /// Called for each byte of long texts.
    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func isUUID(_ bytes: ArraySlice<UInt8>) -> Bool {
        let groups = bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12] && groups.joined().allSatisfy(isHexadecimal)
            && groups.joined().contains { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
