/// The calls of `users` other than its objects and functions.
public enum UsersCalls {
    // Sign-up and sign-in. Sender: gateway.
    /// A new user with a session.
    public static let signUp = Call<AccountRequest, AccountReply>("users.signup.v1", spreads: true)
    /// A session for a user who signed up before with the same identity proofs. If there is none, the reply has no
    /// objectId and nothing is created.
    public static let signInReturning = Call<AccountRequest, AccountReply>("users.signInReturning.v1", spreads: true)
    /// A session for a name and a password, or for an identity proof.
    public static let logIn = Call<AccountRequest, AccountReply>("users.login.v1", spreads: true)
    /// Checks a password without signing in.
    public static let verifyPassword = Call<AccountRequest, AccountReply>("users.verifyPassword.v1", spreads: true)
    /// Prepares a sign-in with a second factor.
    public static let challenge = Call<AccountRequest, AccountReply>("users.challenge.v1", spreads: true)
    /// A step of a browser's log-in at an identity provider. Not repeatable at another replica: a provider's code works
    /// once.
    public static let webSignIn = Call<AccountRequest, AccountReply>("users.webSignIn.v1", spreads: true)
    /// A session for any user, with the master key.
    public static let logInAs = Call<AccountRequest, AccountReply>("users.loginAs.v1")
    /// Ends the session of the request.
    public static let logOut = Call<AccountRequest, AccountReply>("users.logout.v1", spreads: true)
    /// The user of the request's session.
    public static let me = Call<AccountRequest, AccountReply>("users.me.v1")
    /// The session of the request.
    public static let sessionMe = Call<AccountRequest, AccountReply>("users.sessionMe.v1")

    /// The user, roles and rights behind a session token. Sender: gateway.
    public static let session = Call<SessionRequest, SessionReply>("users.session.v1")
    /// The same for a user without a session, for an operator who views as that user. Sender: gateway.
    public static let rights = Call<RightsRequest, SessionReply>("users.rights.v1")
    /// Extends a session that is in use. Sender: gateway.
    public static let extendSession = Call<ExtendSession, Accepted>("users.extendSession.v1", spreads: true)

    /// A client requests a mail with a link. Sender: gateway.
    public static let requestMail = Call<MailRequest, Accepted>("users.requestMail.v1", spreads: true)
    /// The user whose password would be reset for an address, for a trigger that may refuse it. It counts against the
    /// quota like `requestMail`. Sender: gateway.
    public static let resetOwner = Call<MailRequest, AccountReply>("users.resetOwner.v1", spreads: true)
    /// Creates a link and mails it, if the address belongs to a user. Sender: users' own outbox, and gateway after a
    /// trigger.
    public static let mailLink = Call<MailLink, Accepted>("users.mailLink.v1")
    /// Redeems a link that verifies an address. Sender: gateway.
    public static let verifyEmail = Call<LinkRequest, LinkReply>("users.verifyEmail.v1", spreads: true)
    /// Checks whether a password reset link is valid. Sender: gateway.
    public static let checkReset = Call<LinkRequest, LinkReply>("users.checkReset.v1")
    /// Redeems a password reset link. Sender: gateway.
    public static let resetPassword = Call<LinkRequest, LinkReply>("users.resetPassword.v1", spreads: true)

    /// A user's name and e-mail address; fails with 101 for an unknown user. Sender: bag.
    public static let contact = Call<ContactRequest, ContactReply>("users.contact.v1")

    /// Changes by operators, for the audit log. Sender: every service, through its outbox.
    public static let audit = Call<AuditChanges, Accepted>("users.audit.v1")

    /// Invalidates cached state in every gateway, and is answered when that is done. Sender: a replica of users that
    /// made a change while another replica is the leader, because only the leader knows the gateways' leases.
    public static let forget = Call<Forget, Accepted>("users.forget.v1")

    static let all: [any DeclaredCall] = [
        signUp, signInReturning, logIn, verifyPassword, challenge, webSignIn, logInAs, logOut, me, sessionMe, session,
        rights, extendSession,
        requestMail, resetOwner, mailLink, verifyEmail, checkReset, resetPassword, contact, audit,
        forget,
    ]
}
