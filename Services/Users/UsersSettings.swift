import ObjectStore
import ParseProtocol
import ProcessKit
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
    /// Hours for which a link in a mail works: `SATCHEL_VERIFICATION_HOURS` and `SATCHEL_RESET_HOURS`, 1 to 720.
    package var verificationHours = 24
    package var resetHours = 1
    /// `SATCHEL_MAILS_PER_ADDRESS`: links one client address may ask for in an hour, 1 to 1,000,000. An address may be
    /// an office, and behind a proxy it is everybody.
    package var mailsPerAddress = 100
    /// `SATCHEL_SIGNUP_MAILS_PER_ADDRESS`: addresses that one client address may have mailed in an hour by signing them
    /// up, 1 to 1,000,000.
    package var signUpMailsPerAddress = 300
    /// `SATCHEL_SESSION_DAYS`: how long a session lasts, 1 to 3650. A year, as in Parse.
    package var sessionDays = 365
    /// `SATCHEL_SESSION_EXTEND`: whether a session that is used lasts longer, so that only an unused one ends.
    package var extendsSessions = true
    /// `SATCHEL_REVOKE_SESSIONS_ON_PASSWORD_CHANGE`: whether a new password ends the user's sessions (Parse Server's
    /// `revokeSessionOnPasswordReset`).
    package var revokesSessions = true
    /// `SATCHEL_ANONYMOUS_DAYS`: how long nobody may use an anonymous user before the account ends, 0 for ever,
    /// to 3650.
    package var anonymousDays = 0
    /// `SATCHEL_AUDIT_DAYS`: how long entries of the audit log are kept, 1 to 3650.
    package var auditDays = 400
    /// `SATCHEL_PUBLIC_USERS`: whether everybody may read users who chose no ACL, without e-mail and authData, as on
    /// hosted Parse.
    package var showsUsers = false
    /// Base of links in mails.
    package var applicationURL = "http://127.0.0.1:1337/parse/apps/satchel"

    package init() {}

    /// - Throws: `StartupProblem`.
    package init(_ settings: Settings) throws(StartupProblem) {
        verifiesEmail = try settings.flag("satchel.verify.email", default: true)
        refusesUnverified = try settings.flag("satchel.prevent.login.unverified", default: false)
        verificationHours = try settings.number("satchel.verification.hours", 1...720, default: 24)
        resetHours = try settings.number("satchel.reset.hours", 1...720, default: 1)
        mailsPerAddress = try settings.number("satchel.mails.per.address", 1...1_000_000, default: 100)
        signUpMailsPerAddress = try settings.number("satchel.signup.mails.per.address", 1...1_000_000, default: 300)
        sessionDays = try settings.number("satchel.session.days", 1...3650, default: 365)
        anonymousDays = try settings.number("satchel.anonymous.days", 0...3650, default: 0)
        auditDays = try settings.number("satchel.audit.days", 1...3650, default: 400)
        extendsSessions = try settings.flag("satchel.session.extend", default: true)
        revokesSessions = try settings.flag("satchel.revoke.sessions.on.password.change", default: true)
        showsUsers = try settings.flag("satchel.public.users", default: false)
        passwordPolicy.charactersMin = try settings.number("satchel.password.length.min", 1...128, default: 6)
        passwordPolicy.days = try settings.number("satchel.password.days", 0...3650, default: 0)
        passwordPolicy.historyMax = try settings.number("satchel.password.history", 0...20, default: 0)
        if let pattern = settings["satchel.password.pattern"] {
            guard let pattern = try? TextPattern(pattern) else {
                throw StartupProblem("SATCHEL_PASSWORD_PATTERN is not a regular expression.")
            }
            passwordPolicy.pattern = pattern
        }
        asksSecondFactor = try settings.choice("satchel.mfa", default: SecondFactor.off) == .totp
        let applicationId = settings.text("satchel.app.id", default: "satchel")
        applicationURL = PublicURL { settings[$0] }.text + "/apps/\(applicationId)"
        guard verifiesEmail || !refusesUnverified else {
            throw StartupProblem(
                "SATCHEL_PREVENT_LOGIN_UNVERIFIED needs SATCHEL_VERIFY_EMAIL: nobody new could ever sign in.")
        }
    }

    private enum SecondFactor: String, CaseIterable {
        case totp, off
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
