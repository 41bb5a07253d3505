import ObjectStore
import ParseProtocol
import ProcessKit
import ServiceKit

/// The settings of the service; docs/reference/settings.md lists them.
package struct UsersSettings: Sendable {
    /// `SATCHEL_VERIFY_EMAIL`: whether a verification link is mailed to a new address.
    package var verifiesEmail = true
    /// `SATCHEL_PREVENT_LOGIN_UNVERIFIED`: whether users with an unverified address are refused sign-in by password.
    package var refusesUnverified = false
    /// `SATCHEL_MFA`: `totp` lets customers protect sign-ins with an authenticator app; `off` disables it. Operators
    /// may always.
    package var asksSecondFactor = false
    package var passwordPolicy = PasswordPolicy()
    /// Validity of a mailed link in hours: `SATCHEL_VERIFICATION_HOURS` and `SATCHEL_RESET_HOURS`, 1 to 720.
    package var verificationHours = 24
    package var resetHours = 1
    /// `SATCHEL_MAILS_PER_ADDRESS`: links that a client address may request per hour, up to 1,000,000; 0 disables the
    /// quota. One address may be an office, and behind a proxy all clients share one.
    package var mailsPerAddress = 100
    /// `SATCHEL_SIGNUP_MAILS_PER_ADDRESS`: mails per hour that a client address may cause by sign-ups, up to 1,000,000;
    /// 0 disables the quota.
    package var signUpMailsPerAddress = 300
    /// `SATCHEL_SESSION_DAYS`: lifetime of a session, 1 to 3650. A year by default, as in Parse.
    package var sessionDays = 365
    /// `SATCHEL_SESSION_EXTEND`: whether use extends a session, so that only an unused one expires.
    package var extendsSessions = true
    /// `SATCHEL_REVOKE_SESSIONS_ON_PASSWORD_CHANGE`: whether a new password ends the user's sessions (Parse Server's
    /// `revokeSessionOnPasswordReset`).
    package var revokesSessions = true
    /// `SATCHEL_ANONYMOUS_DAYS`: days without use after which an anonymous account is deleted, up to 3650; 0 means
    /// never.
    package var anonymousDays = 0
    /// `SATCHEL_AUDIT_DAYS`: retention of the audit log, 1 to 3650 days.
    package var auditDays = 400
    /// `SATCHEL_PUBLIC_USERS`: whether users without a chosen ACL are publicly readable, except e-mail and authData, as
    /// on hosted Parse.
    package var showsUsers = false
    /// `SATCHEL_PUBLIC_USER_FIELDS`: the only fields of a user that others see while `showsUsers` is set.
    package var publicFields = ["displayName", "firstName", "photo"]
    /// Base URL of mailed links.
    package var applicationURL = "http://127.0.0.1:1337/parse/apps/satchel"
    /// URL of the storefront, on the same host.
    package var shopURL = "http://127.0.0.1:1337"
    /// URL of the dashboard, on the host of `applicationURL`.
    package var dashboardURL = "http://127.0.0.1:1337/dashboard"

    package init() {}

    /// - Throws: `StartupProblem`.
    package init(_ settings: Settings) throws(StartupProblem) {
        verifiesEmail = try settings.flag("satchel.verify.email", default: true)
        refusesUnverified = try settings.flag("satchel.prevent.login.unverified", default: false)
        verificationHours = try settings.number("satchel.verification.hours", 1...720, default: 24)
        resetHours = try settings.number("satchel.reset.hours", 1...720, default: 1)
        mailsPerAddress = try settings.number("satchel.mails.per.address", 0...1_000_000, default: 100)
        signUpMailsPerAddress = try settings.number("satchel.signup.mails.per.address", 0...1_000_000, default: 300)
        sessionDays = try settings.number("satchel.session.days", 1...3650, default: 365)
        anonymousDays = try settings.number("satchel.anonymous.days", 0...3650, default: 0)
        auditDays = try settings.number("satchel.audit.days", 1...3650, default: 400)
        extendsSessions = try settings.flag("satchel.session.extend", default: true)
        revokesSessions = try settings.flag("satchel.revoke.sessions.on.password.change", default: true)
        showsUsers = try settings.flag("satchel.public.users", default: false)
        let fieldsKey = "satchel.public.user.fields"
        publicFields = settings.text(fieldsKey, default: publicFields.joined(separator: ","))
            .split(separator: ",").map { $0.filter { !$0.isWhitespace } }
        guard publicFields.allSatisfy(Names.isFieldName) else {
            throw settings.wrong(fieldsKey, "must be names of a user's fields with commas between them.")
        }
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
        let publicURL = PublicURL { settings[$0] }.text
        applicationURL = "\(publicURL)/apps/\(applicationId)"
        let parts = publicURL.split(separator: "/", omittingEmptySubsequences: false)
        shopURL = parts.prefix(3).joined(separator: "/")
        dashboardURL = (parts.prefix(3) + ["dashboard"]).joined(separator: "/")
        guard verifiesEmail || !refusesUnverified else {
            throw StartupProblem(
                "SATCHEL_PREVENT_LOGIN_UNVERIFIED needs SATCHEL_VERIFY_EMAIL: otherwise no new user could sign in.")
        }
    }

    private enum SecondFactor: String, CaseIterable {
        case totp, off
    }

    /// The only fields of a user that others see; nil for every field that the class does not protect.
    var displayFields: [String]? { showsUsers ? publicFields : nil }

    var sessionLifetime: Duration { .seconds(Int64(sessionDays) * 86_400) }

    /// Nil when anonymous accounts are never deleted automatically.
    var anonymousIdle: Duration? { anonymousDays > 0 ? .seconds(Int64(anonymousDays) * 86_400) : nil }

    /// Whether a user with a password gets no session because the address is unverified.
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
