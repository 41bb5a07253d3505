import ObjectStore
import ParseProtocol

/// The operator's password rules, in addition to the fixed limits (`AccountNames.check`).
package struct PasswordPolicy: Sendable {
    /// `SATCHEL_PASSWORD_LENGTH_MIN`: minimum characters, 1 to 128. Values below the default of 6 are for apps whose
    /// users have such passwords.
    package var charactersMin = 6
    /// `SATCHEL_PASSWORD_PATTERN`: a regular expression that a part of the password must match.
    package var pattern: TextPattern?
    /// `SATCHEL_PASSWORD_DAYS`: validity of a password for sign-ins, up to 3650; 0 means unlimited.
    package var days = 0
    /// `SATCHEL_PASSWORD_HISTORY`: number of recent passwords, including the present one, that cannot be chosen again;
    /// 0 to 20. Each costs a hash.
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

    /// Whether a password chosen at that time has expired.
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
