import Foundation
import ParseProtocol

/// The rules for user names, e-mail addresses and passwords.
package enum AccountNames {
    /// Bytes of a password at most: hashing more than the maximum only costs time.
    package static let passwordBytesMax = 1024
    static let usernameBytesMax = 256
    /// Bytes of the longest name that a sign-in looks up. No name is longer, and folding grows a text.
    static let signInNameBytesMax = 320

    /// The form in which names are compared, so that `Ann`, `ANN` and full-width `Ａｎｎ` are one name.
    ///
    /// NFKC and case folding. The round trip through upper case joins what has no one-to-one lower case, such as `ß`
    /// and `SS`.
    package static func folded(_ name: String) -> String {
        name.precomposedStringWithCompatibilityMapping.lowercased().uppercased().lowercased()
            .precomposedStringWithCompatibilityMapping
    }

    package static func isUsername(_ name: String) -> Bool {
        (1...usernameBytesMax).contains(name.utf8.count) && !name.unicodeScalars.contains(where: isControl)
            && !name.allSatisfy(\.isWhitespace)
    }

    /// An address that the mail service can send to.
    package static func isEmail(_ address: String) -> Bool { Mailbox.isAddress(address) }

    /// Checks that a password is not too long. How short it may be is the operator's choice (`PasswordPolicy`).
    /// - Throws: `.validationError` (142) when the password is too long.
    package static func check(password: String) throws {
        guard password.utf8.count <= passwordBytesMax else {
            throw ParseError(.validationError, "The password must have at most \(passwordBytesMax) bytes.")
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
    }
}
