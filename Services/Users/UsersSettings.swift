import Configuration
import ObjectStore
import ParseProtocol
import ServiceKit

/// The settings of the service; README's table lists them.
package struct UsersSettings: Sendable {
    /// `SATCHEL_VERIFY_EMAIL`: whether a new address gets a mail with a link that verifies it.
    package var verifiesEmail = true
    /// `SATCHEL_PREVENT_LOGIN_UNVERIFIED`: whether somebody with an unverified address may not sign in with a password.
    package var refusesUnverified = false
    /// `SATCHEL_MFA`: `totp` lets users protect sign-ins with an authenticator app, `off` does not.
    package var asksSecondFactor = false
    package var passwordPolicy = PasswordPolicy()
    /// How long a link in a mail works: `SATCHEL_VERIFICATION_HOURS` and `SATCHEL_RESET_HOURS`, 1 to 720.
    package var verificationHours = 24
    package var resetHours = 1
    /// `SATCHEL_MAILS_PER_ADDRESS`: links one client address may ask for in an hour, 1 to 1,000,000. An address may be an office, and
    /// behind a proxy it is everybody.
    package var mailsPerAddress = 100
    /// `SATCHEL_SIGNUP_MAILS_PER_ADDRESS`: addresses that one client address may have mailed in an hour by signing them up, 1 to
    /// 1,000,000.
    package var signUpMailsPerAddress = 300
    /// `SATCHEL_SESSION_DAYS`: how long a session lasts, 1 to 3650. A year, as in Parse.
    package var sessionDays = 365
    /// `SATCHEL_SESSION_EXTEND`: whether a session that is used lasts longer, so that only an unused one ends.
    package var extendsSessions = true
    /// `SATCHEL_REVOKE_SESSIONS_ON_PASSWORD_CHANGE`: whether a new password ends the user's sessions (Parse Server's
    /// `revokeSessionOnPasswordReset`).
    package var revokesSessions = true
    /// `SATCHEL_ANONYMOUS_DAYS`: how long nobody may use an anonymous user before the account ends, 0 for ever, to 3650.
    package var anonymousDays = 0
    /// `SATCHEL_PUBLIC_USERS`: whether everybody may read users who chose no ACL, without e-mail and authData, as on
    /// hosted Parse.
    package var showsUsers = false
    /// Base of links in mails.
    package var applicationURL = "http://127.0.0.1:1337/parse/apps/satchel"

    package init() {}

    /// - Throws: `Problem` for a number out of its range, before the service starts.
    package init(_ reader: ConfigReader) throws {
        func number(_ key: String, _ standard: Int, _ range: ClosedRange<Int>) throws -> Int {
            guard let text = reader.string(forKey: ConfigKey(key)), !text.isEmpty else { return standard }
            guard let number = Int(text), range.contains(number) else {
                throw Problem(
                    description:
                        "SATCHEL_\(key.dropFirst(8).uppercased().replacing(".", with: "_"))=\(text) must be a number from "
                        + "\(range.lowerBound) to \(range.upperBound).")
            }
            return number
        }
        verifiesEmail = reader.bool(forKey: "satchel.verify.email", default: true)
        refusesUnverified = reader.bool(forKey: "satchel.prevent.login.unverified", default: false)
        verificationHours = try number("satchel.verification.hours", 24, 1...720)
        resetHours = try number("satchel.reset.hours", 1, 1...720)
        mailsPerAddress = try number("satchel.mails.per.address", 100, 1...1_000_000)
        signUpMailsPerAddress = try number("satchel.signup.mails.per.address", 300, 1...1_000_000)
        sessionDays = try number("satchel.session.days", 365, 1...3650)
        anonymousDays = try number("satchel.anonymous.days", 0, 0...3650)
        extendsSessions = reader.bool(forKey: "satchel.session.extend", default: true)
        revokesSessions = reader.bool(forKey: "satchel.revoke.sessions.on.password.change", default: true)
        showsUsers = reader.bool(forKey: "satchel.public.users", default: false)
        passwordPolicy.charactersMin = try number("satchel.password.length.min", 6, 1...128)
        passwordPolicy.days = try number("satchel.password.days", 0, 0...3650)
        passwordPolicy.historyMax = try number("satchel.password.history", 0, 0...20)
        if let pattern = reader.string(forKey: "satchel.password.pattern"), !pattern.isEmpty {
            guard let pattern = try? TextPattern(pattern) else {
                throw Problem(description: "SATCHEL_PASSWORD_PATTERN is not a regular expression.")
            }
            passwordPolicy.pattern = pattern
        }
        switch reader.string(forKey: "satchel.mfa", default: "") {
        case "", "off": asksSecondFactor = false
        case "totp": asksSecondFactor = true
        case let other: throw Problem(description: "SATCHEL_MFA=\(other) must be totp or off.")
        }
        let applicationId = reader.string(forKey: "satchel.app.id", default: "satchel")
        applicationURL = PublicURL { reader.string(forKey: ConfigKey($0)) }.text + "/apps/\(applicationId)"
        guard verifiesEmail || !refusesUnverified else {
            throw Problem(
                description:
                    "SATCHEL_PREVENT_LOGIN_UNVERIFIED needs SATCHEL_VERIFY_EMAIL: nobody new could ever sign in.")
        }
    }

    package struct Problem: Error, CustomStringConvertible {
        /// For the operator, who finds it in the log.
        package let description: String
    }

    var sessionLifetime: Duration { .seconds(Int64(sessionDays) * 86_400) }

    /// Nil when no anonymous user's account ends by itself.
    var anonymousIdle: Duration? { anonymousDays > 0 ? .seconds(Int64(anonymousDays) * 86_400) : nil }

    /// Whether a user with a password gets no session, because the address is not verified.
    func refusesSession(of user: JSON) -> Bool {
        refusesUnverified && user["email"]?.stringValue != nil && user["emailVerified"] != true
    }

    /// Nil when use does not extend sessions.
    var extensionLifetime: SessionExtension? {
        guard extendsSessions else { return nil }
        let half = sessionLifetime / 2
        return SessionExtension(lifetime: sessionLifetime, after: anonymousIdle.map { min($0 / 2, half) } ?? half)
    }
}
