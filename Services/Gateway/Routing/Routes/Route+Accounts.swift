/// Signing in and out, and the mails about it.
extension Route {
    static let accounts: [Route] = [
        Route(.post, "/login", .users, "logIn", "Signs a user in.", ignoresSession: true) {
            try await $0.controllers.accounts.logIn($0.request, $0.principal)
        },
        Route(.get, "/login", .users, "logInByQuery", "Signs a user in, as old clients do.", ignoresSession: true) {
            try await $0.controllers.accounts.logIn($0.request, $0.principal)
        },
        Route(.post, "/logout", .users, "logOut", "Ends the session.") {
            try await $0.controllers.accounts.logOut($0.request, $0.principal)
        },
        Route(.post, "/loginAs", .users, "logInAs", "Makes a session for any user.", access: .master) {
            try await $0.controllers.accounts.logInAs($0.request, $0.principal)
        },
        Route(
            .post, "/verifyPassword", .users, "verifyPassword", "Checks a password without signing in.",
            ignoresSession: true
        ) {
            try await $0.controllers.accounts.verifyPassword($0.request, $0.principal)
        },
        Route(
            .get, "/verifyPassword", .users, "verifyPasswordByQuery", "Checks a password, as old clients do.",
            ignoresSession: true
        ) {
            try await $0.controllers.accounts.verifyPassword($0.request, $0.principal)
        },
        Route(
            .post, "/upgradeToRevocableSession", .sessions, "upgradeToRevocableSession",
            "The session itself: every session can be revoked."
        ) {
            try await $0.controllers.accounts.currentSession($0.request, $0.principal)
        },
        Route(
            .post, "/requestPasswordReset", .users, "requestPasswordReset",
            "Sends a mail with a link to a new password."
        ) {
            try await $0.controllers.accounts.requestMail(.passwordReset, $0.request, $0.principal)
        },
        Route(
            .post, "/verificationEmailRequest", .users, "requestVerificationEmail",
            "Sends the mail again that proves an address."
        ) {
            try await $0.controllers.accounts.requestMail(.emailVerification, $0.request, $0.principal)
        },
        Route(
            .post, "/challenge", .users, "challenge", "Prepares a sign-in with a second factor.", ignoresSession: true
        ) {
            try await $0.controllers.accounts.challenge($0.request, $0.principal)
        },
    ]
}
