import Foundation
import ParseProtocol

/// The rules for user names, e-mail addresses and passwords.
package enum AccountNames {
    /// Characters of a password at least, bytes at most: hashing more than the maximum only costs time.
    static let passwordCharactersMin = 6
    package static let passwordBytesMax = 1024
    static let usernameBytesMax = 256
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

    /// An address as mail servers take it, without comments and quotes: `local@domain`.
    package static func isEmail(_ address: String) -> Bool {
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, address.utf8.count <= emailBytesMax else { return false }
        let local = parts[0]
        guard (1...localPartBytesMax).contains(local.utf8.count), !local.hasPrefix("."), !local.hasSuffix("."),
            !local.contains(".."), local.unicodeScalars.allSatisfy(isLocalPart)
        else { return false }
        return parts[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy(isDomainLabel)
    }

    /// - Throws: 142 when the password is too short or too long.
    package static func check(password: String) throws {
        guard password.count >= passwordCharactersMin else {
            throw ParseError(
                .validationError, "The password must have at least \(passwordCharactersMin) characters.")
        }
        guard password.utf8.count <= passwordBytesMax else {
            throw ParseError(.validationError, "The password must have at most \(passwordBytesMax) bytes.")
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
    }

    private static func isLocalPart(_ scalar: Unicode.Scalar) -> Bool {
        !isControl(scalar) && !scalar.properties.isWhitespace && !"\"(),:;<>[\\]".unicodeScalars.contains(scalar)
    }

    private static func isDomainLabel(_ label: Substring) -> Bool {
        guard (1...63).contains(label.utf8.count), label.first != "-", label.last != "-" else { return false }
        return label.unicodeScalars.allSatisfy {
            $0 == "-" || $0.properties.isAlphabetic || $0.properties.numericType != nil
                || $0.properties.generalCategory == .nonspacingMark || $0.properties.generalCategory == .spacingMark
        }
    }
}
