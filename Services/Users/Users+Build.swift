import MessageBus
import Messages
import ServiceKit

/// Registers the service's routes other than the reads and writes of its classes.
package func buildUsers(
    _ host: ServiceHost, _ routes: inout ServiceRoutes, _ means: AccountDependencies, signIns: PasswordHasher
) {
    let (settings, key) = (means.settings, means.key)
    let rules = UserRules(means, host: host)
    let signIn = SignIn(host: host, hasher: signIns, rules: rules)

    routes.task(framed: UsersCalls.signUp) { message, request in
        try await rules.signUp(message, request, host: host)
    }
    routes.task(framed: UsersCalls.signInReturning) { message, request in
        try await rules.signUp(message, request, host: host, isReturnOnly: true)
    }
    routes.task(framed: UsersCalls.logIn) { message, request in
        try await signIn.answer(message, request)
    }
    routes.task(framed: UsersCalls.verifyPassword) { message, request in
        try await signIn.verify(message, request)
    }
    routes.task(framed: UsersCalls.challenge) { message, request in
        try await signIn.challenge(message, request)
    }
    let webSignIn = WebSignIn(host: host, providers: rules.providers, settings: settings)
    routes.task(framed: UsersCalls.webSignIn) { _, request in try await webSignIn.answer(request) }
    routes.write(framed: UsersCalls.logInAs) { _, request, transaction in
        let reply = try SessionAdministration.logInAs(
            request, lifetime: settings.sessionLifetime, key: key, in: transaction)
        let userId = try request.document()["userId"]?.stringValue ?? ""
        try host.audit.note(.init("loginAs", "_User", userId), by: request, in: transaction)
        return reply
    }
    routes.write(framed: UsersCalls.logOut) { _, request, transaction in
        try SessionAnswers.logOut(request, key, in: transaction)
    }
    routes.read(framed: UsersCalls.me) { _, request, reader in try SessionAnswers.user(request, key, reader) }
    routes.read(framed: UsersCalls.sessionMe) { _, request, reader in
        try SessionAnswers.session(request, key, reader)
    }
    routes.read(UsersCalls.session) { message, _, reader in
        try SessionAnswers.principal(
            of: message.sessionToken, key, extension: settings.extensionLifetime, reader)
    }
    routes.read(UsersCalls.rights) { message, request, reader in
        try request.requireAdmin()
        return try SessionAnswers.rights(of: message.userID, reader)
    }
    routes.accept(UsersCalls.extendSession) { message, _, transaction in
        try LastSeen.note(message.sessionToken, key, in: transaction)
        try Sessions.extend(
            message.sessionToken, extension: settings.extensionLifetime, key: key, in: transaction)
    }
    routes.read(UsersCalls.contact) { message, _, reader in
        try SessionAnswers.contact(of: message.userID, reader)
    }
    // The reply waits until every gateway has applied the invalidation, because this process is the leader.
    routes.task(framed: UsersCalls.forget) { message, request in
        try request.requireAdmin()
        return try BusReply(Accepted(), forget: message)
    }
    if host.writers == .every { host.bus.notifyGateways(by: UsersCalls.forget) }
    routes.function("sessionsOf") { parameters, request in
        try await SessionAdministration.list(parameters, request, host: host)
    }
    routes.function("revokeSessions") { parameters, request in
        try await SessionAdministration.revoke(parameters, request, host: host)
    }
    AccountAdministration(host: host, rules: rules).install(in: &routes)
    installAudit(host, &routes)
    installDeskViews(host, &routes)
    TeamAdministration(host: host, rules: rules).install(in: &routes)
    InvitationAcceptance(host: host, rules: rules).install(in: &routes)
    OwnSecurity(host: host, rules: rules, hasher: signIns).install(in: &routes)
    buildLinks(host, &routes, rules: rules)

    Housekeeping(
        host: host, idleUsers: IdleUsers(settings: settings, messages: host.outbox), auditDays: settings.auditDays
    ).install()
    host.whenWriter(
        "users.shown", every: .seconds(1),
        problem: "SATCHEL_PUBLIC_USERS could not be applied to all users."
    ) {
        try await PublicUsers.apply(settings.showsUsers, to: host.store)
        return .finished
    }
    let keyCheck = KeyCheck(store: host.store, key: key, logger: host.logger)
    // All processes that write must be able to read each other's data.
    if host.writers == .every { host.whenOpened(keyCheck.requireSame) }
    host.whenWriter("users.key", every: .seconds(1), problem: "The accounts' key could not be checked.") {
        try await keyCheck.check()
        return .finished
    }
}

/// Adds the routes for mailed links.
private func buildLinks(_ host: ServiceHost, _ routes: inout ServiceRoutes, rules: UserRules) {
    let mails = LinkMails(settings: rules.settings, messages: rules.messages, key: rules.key)
    let visits = LinkVisits(host: host, rules: rules)

    routes.accept(UsersCalls.requestMail) { message, request, transaction in
        try mails.request(message, from: request.envelope.principal.network, in: transaction)
    }
    routes.write(UsersCalls.resetOwner) { message, request, transaction in
        try mails.resetOwner(message, from: request.envelope.principal.network, in: transaction)
    }
    routes.accept(UsersCalls.mailLink) { message, _, transaction in
        try mails.mail(message, in: transaction)
    }
    routes.write(framed: UsersCalls.verifyEmail) { message, _, transaction in
        try LinkVisits.verifyEmail(message, in: transaction)
    }
    routes.read(framed: UsersCalls.checkReset) { message, _, reader in
        try LinkVisits.checkReset(message, reader)
    }
    routes.task(framed: UsersCalls.resetPassword) { message, request in
        try await visits.resetPassword(message, request)
    }
}
