import Messages
import ServiceKit

/// Registers what the service answers beside the reads and writes of its classes.
func buildUsers(_ host: ServiceHost, _ routes: inout ServiceRoutes, hashers: PasswordHashers) {
    let rules = UserRules(hasher: hashers.newPasswords)
    let signIn = SignIn(host: host, hasher: hashers.signIns)
    let housekeeping = Housekeeping(host: host)

    routes.task("users.signup.v1", AccountRequest.self) { _, request in
        try await rules.signUp(request, host: host)
    }
    routes.task("users.login.v1", AccountRequest.self) { message, request in
        try await signIn.answer(request, from: message.clientAddress)
    }
    routes.write("users.logout.v1", AccountRequest.self) { _, request, transaction in
        try SessionAnswers.logOut(request, in: transaction)
    }
    for kind in ["users.me.v1", "users.become.v1"] {
        routes.read(kind, AccountRequest.self) { _, request, reader in try SessionAnswers.user(request, reader) }
    }
    routes.read("users.sessionMe.v1", AccountRequest.self) { _, request, reader in
        try SessionAnswers.session(request, reader)
    }
    routes.read("users.session.v1", SessionRequest.self) { message, _, reader in
        try SessionAnswers.principal(of: message.sessionToken, reader)
    }
    routes.read("users.contact.v1", ContactRequest.self) { message, _, reader in
        try SessionAnswers.contact(of: message.userID, reader)
    }

    host.whenWriter { await housekeeping.seedAdmins() }
    host.whenWriter { await housekeeping.run() }
}
