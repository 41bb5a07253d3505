import MessageBus
import Messages
import ServiceKit

/// Registers what the service answers beside the reads and writes of its classes.
func buildUsers(_ host: ServiceHost, _ routes: inout ServiceRoutes, _ means: AccountMeans, signIns: PasswordHasher) {
    let (settings, key) = (means.settings, means.key)
    let rules = UserRules(means, host: host)
    let signIn = SignIn(host: host, hasher: signIns, settings: settings, messages: host.outbox, key: key)

    routes.task("users.signup.v1", AccountRequest.self) { message, request in
        try await rules.signUp(message, request, host: host)
    }
    routes.task("users.login.v1", AccountRequest.self) { message, request in
        try await signIn.answer(message, request)
    }
    routes.task("users.verifyPassword.v1", AccountRequest.self) { message, request in
        try await signIn.verify(message, request)
    }
    routes.task("users.challenge.v1", AccountRequest.self) { message, request in
        try await signIn.challenge(message, request)
    }
    routes.write("users.loginAs.v1", AccountRequest.self) { _, request, transaction in
        try SessionAdministration.logInAs(request, lifetime: settings.sessionLifetime, key: key, in: transaction)
    }
    routes.write("users.logout.v1", AccountRequest.self) { _, request, transaction in
        try SessionAnswers.logOut(request, key, in: transaction)
    }
    for kind in ["users.me.v1", "users.become.v1"] {
        routes.read(kind, AccountRequest.self) { _, request, reader in try SessionAnswers.user(request, key, reader) }
    }
    routes.read("users.sessionMe.v1", AccountRequest.self) { _, request, reader in
        try SessionAnswers.session(request, key, reader)
    }
    routes.read("users.session.v1", SessionRequest.self) { message, _, reader in
        try SessionAnswers.principal(
            of: message.sessionToken, key, extension: settings.extensionLifetime, reader)
    }
    routes.write("users.extendSession.v1", ExtendSession.self) { message, _, transaction in
        try Sessions.extend(
            message.sessionToken, extension: settings.extensionLifetime, key: key, in: transaction)
        return try BusReply(Accepted())
    }
    routes.read("users.contact.v1", ContactRequest.self) { message, _, reader in
        try SessionAnswers.contact(of: message.userID, reader)
    }
    routes.function("sessionsOf") { parameters, request in
        try await SessionAdministration.list(parameters, request, host: host)
    }
    routes.function("revokeSessions") { parameters, request in
        try await SessionAdministration.revoke(parameters, request, host: host)
    }
    buildLinks(host, &routes, rules: rules)

    Housekeeping(host: host, idleUsers: IdleUsers(settings: settings, messages: host.outbox)).install()
    host.whenWriter("gender", every: .seconds(1), problem: "The type of gender could not be changed.") {
        await GenderField.convert(host.store, host.logger)
        return .finished
    }
    let plainSecrets = PlainSecrets(store: host.store, key: key, logger: host.logger)
    host.whenWriter("secrets", every: .seconds(1), problem: "Secrets in plain text could not be converted.") {
        try await plainSecrets.convert()
        return .finished
    }
}

/// What has to do with links in mails.
private func buildLinks(_ host: ServiceHost, _ routes: inout ServiceRoutes, rules: UserRules) {
    let mails = LinkMails(settings: rules.settings, messages: rules.messages, key: rules.key)
    let visits = LinkVisits(host: host, rules: rules)

    routes.write("users.requestMail.v1", MailRequest.self) { message, request, transaction in
        try mails.request(message, from: request.envelope.principal.network, in: transaction)
        return try BusReply(Accepted())
    }
    routes.write("users.mailLink.v1", MailLink.self) { message, _, transaction in
        try mails.mail(message, in: transaction)
        return try BusReply(Accepted())
    }
    routes.write("users.verifyEmail.v1", LinkRequest.self) { message, _, transaction in
        try LinkVisits.verifyEmail(message, in: transaction)
    }
    routes.read("users.checkReset.v1", LinkRequest.self) { message, _, reader in
        try LinkVisits.checkReset(message, reader)
    }
    routes.task("users.resetPassword.v1", LinkRequest.self) { message, request in
        try await visits.resetPassword(message, request)
    }
}
