/// The calls that `users` answers beside its objects and functions.
public enum UsersCalls {
    // Signing up and in. Sender: gateway.
    /// A new user with a session.
    public static let signUp = Call<AccountRequest, AccountReply>("users.signup.v1", spreads: true)
    /// A session for a name and a password, or for a proof of an identity provider.
    public static let logIn = Call<AccountRequest, AccountReply>("users.login.v1", spreads: true)
    /// Checks a password without signing in.
    public static let verifyPassword = Call<AccountRequest, AccountReply>("users.verifyPassword.v1", spreads: true)
    /// Prepares a sign-in with a second factor.
    public static let challenge = Call<AccountRequest, AccountReply>("users.challenge.v1", spreads: true)
    /// A session for any user, for the master key.
    public static let logInAs = Call<AccountRequest, AccountReply>("users.loginAs.v1")
    /// Ends the session that a request came with.
    public static let logOut = Call<AccountRequest, AccountReply>("users.logout.v1", spreads: true)
    /// The user of the session that a request came with.
    public static let me = Call<AccountRequest, AccountReply>("users.me.v1")
    /// That session.
    public static let sessionMe = Call<AccountRequest, AccountReply>("users.sessionMe.v1")

    /// The user, roles and rights behind a session token. Sender: gateway.
    public static let session = Call<SessionRequest, SessionReply>("users.session.v1")
    /// The same of a user, without a session, for an operator who looks as that user. Sender: gateway.
    public static let rights = Call<RightsRequest, SessionReply>("users.rights.v1")
    /// A session is in use and lasts longer. Sender: gateway.
    public static let extendSession = Call<ExtendSession, Accepted>("users.extendSession.v1", spreads: true)

    /// Somebody asks for a mail with a link. Sender: gateway.
    public static let requestMail = Call<MailRequest, Accepted>("users.requestMail.v1", spreads: true)
    /// Whose password would be reset for an address, for a trigger that has a say in it. It counts as `requestMail`
    /// does. Sender: gateway.
    public static let resetOwner = Call<MailRequest, AccountReply>("users.resetOwner.v1", spreads: true)
    /// Makes a link and mails it, if the address is somebody's. Sender: users' own outbox, and gateway after a trigger.
    public static let mailLink = Call<MailLink, Accepted>("users.mailLink.v1")
    /// Follows a link that verifies an address. Sender: gateway.
    public static let verifyEmail = Call<LinkRequest, LinkReply>("users.verifyEmail.v1", spreads: true)
    /// Looks whether a link that resets a password is good. Sender: gateway.
    public static let checkReset = Call<LinkRequest, LinkReply>("users.checkReset.v1")
    /// Follows a link that resets a password. Sender: gateway.
    public static let resetPassword = Call<LinkRequest, LinkReply>("users.resetPassword.v1", spreads: true)

    /// A user's name and e-mail address. Sender: bag.
    public static let contact = Call<ContactRequest, ContactReply>("users.contact.v1")

    /// Changes by operators, for the audit log. Sender: every service, through its outbox.
    public static let audit = Call<AuditChanges, Accepted>("users.audit.v1")

    /// Answered when every gateway has forgotten it that could believe it. Sender: a replica of users that made a
    /// change beside the one that leads, which alone knows the gateways' leases.
    public static let forget = Call<Forget, Accepted>("users.forget.v1")

    static let all: [any DeclaredCall] = [
        signUp, logIn, verifyPassword, challenge, logInAs, logOut, me, sessionMe, session, rights, extendSession,
        requestMail, resetOwner, mailLink, verifyEmail, checkReset, resetPassword, contact, audit,
        forget,
    ]
}
