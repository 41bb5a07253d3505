import ObjectStore
import ParseProtocol

/// The operator's rules for passwords, beside the bounds that always hold (`AccountNames.check`).
package struct PasswordPolicy: Sendable {
    /// `SATCHEL_PASSWORD_LENGTH_MIN`: characters at least, 1 to 128. Fewer than the standard 6 are for apps whose users
    /// have such passwords.
    package var charactersMin = 6
    /// `SATCHEL_PASSWORD_PATTERN`: a regular expression that a password must match somewhere.
    package var pattern: TextPattern?
    /// `SATCHEL_PASSWORD_DAYS`: how long a password opens sessions, 0 for ever, to 3650.
    package var days = 0
    /// `SATCHEL_PASSWORD_HISTORY`: how many of the last passwords, the present one included, cannot be chosen again, 0
    /// to 20. Each is a hash to compute.
    package var historyMax = 0

    package init() {}

    /// - Throws: `.validationError` (142).
    package func check(_ password: String) throws {
        try AccountNames.check(password: password)
        guard password.count >= charactersMin else {
            throw ParseError(.validationError, "The password must have at least \(charactersMin) characters.")
        }
        guard pattern?.matches(password) ?? true else {
            throw ParseError(.validationError, "Password does not meet the Password Policy requirements.")
        }
    }

    /// Whether a password chosen at that time is too old to sign in with.
    package func isExpired(chosenAt: Timestamp, now: Timestamp) -> Bool {
        days > 0 && chosenAt.advanced(by: .seconds(Int64(days) * 86_400)) <= now
    }

    var repeated: ParseError {
        ParseError(
            .validationError, "New password should not be the same as last \(historyMax) passwords.")
    }

    static let expired = ParseError(
        .objectNotFound, "Your password has expired. Please reset your password.")
}
