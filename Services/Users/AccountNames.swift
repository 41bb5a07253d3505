import Foundation
import ParseProtocol

/// The rules for user names, e-mail addresses and passwords.
package enum AccountNames {
    /// Bytes of a password at most: hashing more than the maximum only costs time.
    package static let passwordBytesMax = 1024
    static let usernameBytesMax = 256
    /// What a sign-in looks up at most. No name is longer, and folding grows a text.
    static let signInNameBytesMax = 320
    /// Longest address that fits an SMTP path (RFC 5321, 4.5.3.1.3), and its local part.
    static let emailBytesMax = 254
    static let localPartBytesMax = 64

    /// The form in which names are compared, so that `Ann`, `ANN` and full-width `Ａｎｎ` are one name.
    ///
    /// NFKC and case folding. The round trip through upper case joins what has no one-to-one lower case, such as `ß` and `SS`.
    package static func folded(_ name: String) -> String {
        name.precomposedStringWithCompatibilityMapping.lowercased().uppercased().lowercased()
            .precomposedStringWithCompatibilityMapping
    }

    package static func isUsername(_ name: String) -> Bool {
        (1...usernameBytesMax).contains(name.utf8.count) && !name.unicodeScalars.contains(where: isControl)
            && !name.allSatisfy(\.isWhitespace)
    }

    /// An address that the mail service can send to: `local@domain` in ASCII, of unquoted atoms (RFC 5322, 3.2.3). A domain of
    /// other letters is written in its `xn--` form.
    package static func isEmail(_ address: String) -> Bool {
        guard address.utf8.count <= emailBytesMax else { return false }
        let parts = address.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count <= localPartBytesMax else { return false }
        let dot = UInt8(ascii: ".")
        return parts[0].split(separator: dot, omittingEmptySubsequences: false).allSatisfy { atom in
            !atom.isEmpty && atom.allSatisfy(isAtomText)
        } && parts[1].split(separator: dot, omittingEmptySubsequences: false).allSatisfy(isDomainLabel)
    }

    /// How short it may be is the operator's choice (`PasswordPolicy`).
    /// - Throws: 142 when the password is too long.
    package static func check(password: String) throws {
        guard password.utf8.count <= passwordBytesMax else {
            throw ParseError(.validationError, "The password must have at most \(passwordBytesMax) bytes.")
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
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
