import Foundation
import ParseProtocol

/// The rules for user names, e-mail addresses and passwords.
package enum AccountNames {
    /// Limit of a password in bytes, because longer ones only cost hashing time.
    package static let passwordBytesMax = 1024
    static let usernameBytesMax = 256
    /// Limit of a name in a sign-in. No stored name is longer, and folding can lengthen a text.
    static let signInNameBytesMax = 320

    /// The form in which names are compared: `Ann`, `ANN` and full-width `Ａｎｎ` are the same name.
    ///
    /// NFKC and case folding. The conversion to upper case and back unifies characters without a one-to-one lower case,
    /// such as `ß` and `SS`.
    package static func folded(_ name: String) -> String {
        FoldedLetters.folded(name) { part in
            part.precomposedStringWithCompatibilityMapping.lowercased().uppercased().lowercased()
                .precomposedStringWithCompatibilityMapping
        }
    }

    package static func isUsername(_ name: String) -> Bool {
        (1...usernameBytesMax).contains(name.utf8.count) && !name.unicodeScalars.contains(where: isControl)
            && !name.allSatisfy(\.isWhitespace)
    }

    /// Whether the mail service can send to the address.
    package static func isEmail(_ address: String) -> Bool { Mailbox.isAddress(address) }

    /// Checks the maximum length of a password. `PasswordPolicy` has the operator's minimum.
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
