extension Mailbox {
    /// Maximum length of an address in an SMTP path (RFC 5321, 4.5.3.1.3), and of its local part.
    public static let addressBytesMax = 254
    private static let localPartBytesMax = 64

    /// Whether any mail system can deliver to the address: `local@domain` in ASCII, of unquoted atoms (RFC 5322,
    /// 3.2.3), with a dot in the domain. A domain with other letters must be in its `xn--` form. All services use this
    /// rule.
    public static func isAddress(_ text: String) -> Bool {
        guard text.utf8.count <= addressBytesMax else { return false }
        let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count <= localPartBytesMax else { return false }
        let dot = UInt8(ascii: ".")
        guard parts[1].contains(dot) else { return false }
        return parts[0].split(separator: dot, omittingEmptySubsequences: false).allSatisfy { atom in
            !atom.isEmpty && atom.allSatisfy(isAtomText)
        } && parts[1].split(separator: dot, omittingEmptySubsequences: false).allSatisfy(isDomainLabel)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isAtomText(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }

    private static func isDomainLabel(_ label: Substring.UTF8View) -> Bool {
        let hyphen = UInt8(ascii: "-")
        return (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
            && label.allSatisfy { isLetterOrDigit($0) || $0 == hyphen }
    }
}
